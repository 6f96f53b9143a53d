//! Bounds what the console costs: each kind of figures is read again only after a pause that grows
//! with the processor time of the last look. All viewers get the same look meanwhile.

use mehari_loopback::{Content, MediaType, StatusCode};
use rustix::time::{clock_gettime, ClockId};
use serde_json::{json, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The pause after a look, as a multiple of the processor time that the look took. The looks of one
/// kind therefore take at most half a percent of a core.
const PAUSES: u32 = 200;

/// The last look of one kind.
struct KeptLook {
    at: Instant,
    pause: Duration,
    content: Content,
}

type LookCell = Arc<Mutex<Option<KeptLook>>>;

#[derive(Default)]
pub struct Looks(Mutex<HashMap<&'static str, LookCell>>);

impl Looks {
    /// Returns the last look of this kind, or a new one after the pause. The figures of `read` may
    /// say by `cost_us` what they cost the server. The answer says by `pause_ms` when the next look
    /// is worth a question.
    pub fn at(&self, kind: &'static str, read: impl FnOnce() -> Result<Value, String>) -> Content {
        let cell = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry(kind).or_default().clone()
        };
        // A second viewer of the same kind waits here for the look of the first.
        let mut kept = cell.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = kept.as_ref().filter(|it| it.at.elapsed() < it.pause) {
            return kept.content.clone();
        }
        let expected = kept.as_ref().map_or(Duration::ZERO, |last| last.pause);
        let began = processor_time();
        let (content, at_server) = content(read(), expected);
        let cost = processor_time().saturating_sub(began) + at_server;
        let pause = cost * PAUSES;
        let at = Instant::now();
        *kept = (content.status == StatusCode::OK).then(|| KeptLook {
            at,
            pause,
            content: content.clone(),
        });
        content
    }
}

/// Returns the answer, and what its figures cost the server.
fn content(figures: Result<Value, String>, pause: Duration) -> (Content, Duration) {
    let (status, mut value) = match figures {
        Ok(value) => (StatusCode::OK, value),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, json!({ "error": reason })),
    };
    let at_server = Duration::from_micros(value["cost_us"].as_u64().unwrap_or_default());
    value["pause_ms"] = json!(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX));
    let content = Content::once(status, MediaType::Json, value.to_string());
    (content, at_server)
}

/// The processor time of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn dear_look_is_kept_for_all_viewers_and_a_failure_is_not() {
        let looks = Looks::default();
        let count = Cell::new(0);
        let read = |cost_us: u64| {
            count.set(count.get() + 1);
            Ok(json!({ "cost_us": cost_us }))
        };
        looks.at("dear", || read(10_000_000));
        looks.at("dear", || read(10_000_000));
        assert_eq!(count.get(), 1);
        looks.at("other", || read(0));
        assert_eq!(count.get(), 2);
        for _ in 0..2 {
            let told = looks.at("failed", || Err("no server".to_owned()));
            assert_eq!(told.status, StatusCode::SERVICE_UNAVAILABLE);
        }
        let told = looks.at("failed", || read(0));
        assert_eq!(told.status, StatusCode::OK);
    }

    #[test]
    fn answer_tells_the_pause_that_its_kind_needs() {
        let looks = Looks::default();
        let of =
            |content: Content| -> Value { serde_json::from_slice(&content.plain).expect("JSON") };
        let first = of(looks.at("a", || Ok(json!({ "cost_us": 1 }))));
        assert_eq!(first["pause_ms"], 0);
        let cell = looks.0.lock().expect("no panic")["a"].clone();
        let pause = cell.lock().expect("no panic").as_ref().expect("kept").pause;
        assert!(pause >= Duration::from_micros(200), "{pause:?}");
    }
}

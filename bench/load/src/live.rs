//! Feeds the live view of a running measurement. Each thread publishes its counts at every tick,
//! and the thread that draws the view takes them. Without a view nothing slows the event loop.

use std::fmt;
use std::sync::{Arc, Mutex, TryLockError};
use std::time::SystemTime;

use mehari_record::Latency;

use crate::moment::Moment;
use crate::observe::{
    Connected, Failure, FailureKind, ObservedExchange, Observer, Sample, SessionEnd,
};
use crate::recorder::Recorder;

/// Collects the counts that the threads publish. A run has one window.
#[derive(Clone, Debug, Default)]
pub struct Window {
    shared: Arc<Mutex<Glance>>,
}

/// The counts of the events since the last call of `take`.
#[derive(Clone, Debug, Default)]
pub struct Glance {
    pub completed: u64,
    pub failed: u64,
    pub errors: u64,
    pub bytes: u64,
    pub response: Latency,
}

impl Window {
    pub fn new() -> Window {
        Window::default()
    }

    /// Takes everything published since the last call.
    pub fn take(&self) -> Glance {
        match self.shared.lock() {
            Ok(mut shared) => std::mem::take(&mut shared),
            Err(poisoned) => std::mem::take(&mut poisoned.into_inner()),
        }
    }

    /// Adds `part` to the published events. If another thread holds the lock, `part` keeps its
    /// counts until the next call.
    fn publish(&self, part: &mut Glance) {
        let mut shared = match self.shared.try_lock() {
            Ok(shared) => shared,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        shared.completed += part.completed;
        shared.failed += part.failed;
        shared.errors += part.errors;
        shared.bytes += part.bytes;
        shared
            .response
            .add(&part.response)
            .expect("all histograms of a run have one shape");
        part.response.reset();
        (part.completed, part.failed, part.errors, part.bytes) = (0, 0, 0, 0);
    }
}

/// A recorder that also publishes its counts to a window.
pub struct Watched {
    pub recorder: Recorder,
    window: Option<(Window, Glance)>,
}

impl Watched {
    pub fn new(recorder: Recorder, window: Option<Window>) -> Watched {
        Watched {
            recorder,
            window: window.map(|window| (window, Glance::default())),
        }
    }
}

impl Observer for Watched {
    const WRITE_TIMES: bool = Recorder::WRITE_TIMES;
    const TLS_FACTS: bool = Recorder::TLS_FACTS;

    fn begins(&mut self, origin: SystemTime) {
        self.recorder.begins(origin);
    }

    fn connected(&mut self, connected: &Connected<'_>) {
        self.recorder.connected(connected);
    }

    fn wants_head(&self) -> bool {
        self.recorder.wants_head()
    }

    fn head(&mut self, exchange: &ObservedExchange, head: &[u8]) {
        self.recorder.head(exchange, head);
    }

    fn completed(&mut self, sample: &Sample) {
        self.recorder.completed(sample);
        if let Some((_, glance)) = &mut self.window {
            glance.completed += 1;
            glance.errors += u64::from(sample.status >= 400);
            glance.bytes += sample.head_bytes + sample.body_bytes;
            glance.response.count(sample.response());
        }
    }

    fn failed(&mut self, failure: &Failure) {
        self.recorder.failed(failure);
        if let Some((_, glance)) = &mut self.window {
            glance.failed += 1;
        }
    }

    fn trouble(&mut self, kind: FailureKind, why: &dyn fmt::Display) {
        self.recorder.trouble(kind, why);
    }

    fn session_ended(&mut self, end: &SessionEnd) {
        self.recorder.session_ended(end);
    }

    fn tick(&mut self, _now: Moment) {
        if let Some((window, glance)) = &mut self.window {
            window.publish(glance);
        }
    }
}

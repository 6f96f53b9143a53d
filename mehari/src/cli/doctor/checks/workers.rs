//! Compares the number of workers with the time that requests waited for one.

use crate::cli::doctor::advice::{figure, Advice, Verdict};
use crate::cli::doctor::examination::{Examination, ExaminedServer};
use crate::cli::doctor::gain;
use crate::cli::doctor::measuring::{bytes, ms};
use crate::cli::doctor::watching::quantile;

/// Fewer requests say nothing about the queue.
const LEAST_REQUESTS: f64 = 50.0;
/// Waits are worth a change if their mean reaches this length and this share of the time.
const LEAST_WAIT_US: f64 = 1_000.0;
const LEAST_SHARE: f64 = 0.1;
/// Below this idle share of the cores, more workers would only share them.
const LEAST_IDLE: f64 = 0.15;
/// Room beyond the mean number of busy workers and waiting requests.
const ROOM: f64 = 1.25;

pub fn check(examination: &Examination) -> Verdict {
    let server = match examination.running() {
        Ok(server) => server,
        Err(why) => return Verdict::Unmeasured(why),
    };
    let span = &server.span;
    let places = &span.places;
    let requests: f64 = places.iter().map(|place| place.requests).sum();
    if requests < LEAST_REQUESTS {
        return Verdict::Unmeasured(format!(
            "{requests} requests came, and {LEAST_REQUESTS} are needed"
        ));
    }
    let queued_us: f64 = places.iter().map(|place| place.queued_us).sum();
    let took_us: f64 = places.iter().map(|place| place.took_us).sum();
    let p99 = quantile(&span.histogram("queue_wait_us"), 0.99);
    let queue = QueueFacts {
        per_second: requests / span.seconds,
        wait_us: queued_us / requests,
        took_us: took_us / requests,
        limit: server.status["pool"]["limit"].as_f64().unwrap_or_default(),
        idle: span.idle_share(),
    };
    let told = format!(
        "{requests} requests waited {} for a worker on average (p99 {}), {:.1} % of their time; \
         {} workers at most, {:.0} % of the cores' time idle",
        ms(queue.wait_us),
        ms(p99),
        100.0 * queue.wait_us / queue.took_us.max(1.0),
        queue.limit,
        100.0 * queue.idle
    );
    let room = room(server);
    match queue.need(room.map(|(most, _)| most)) {
        WorkerNeed::Enough => Verdict::Fine(told),
        WorkerNeed::Cores => {
            Verdict::Fine(format!("{told}: the cores are the limit, not the workers"))
        }
        WorkerNeed::Memory(wanted) => Verdict::Fine(format!(
            "{told}: {wanted} workers would be needed, and the memory allows no more of {}",
            bytes(room.map_or(0.0, |(_, each)| each))
        )),
        WorkerNeed::More(wanted) => {
            Verdict::Advice(vec![advise(examination, &told, queue.wait_us, wanted)])
        }
    }
}

/// The requests of the watched time, by their means.
struct QueueFacts {
    per_second: f64,
    wait_us: f64,
    /// With the wait.
    took_us: f64,
    /// The most workers.
    limit: f64,
    /// The idle share of the cores.
    idle: f64,
}

#[derive(Debug, PartialEq)]
enum WorkerNeed {
    Enough,
    /// The cores are busy: more workers would only share them.
    Cores,
    /// The workers that would be needed. The memory does not allow more than now.
    Memory(f64),
    More(f64),
}

impl QueueFacts {
    /// `room`: the most workers that the memory allows, if it is known.
    fn need(&self, room: Option<f64>) -> WorkerNeed {
        let share = self.wait_us / self.took_us.max(1.0);
        if self.wait_us < LEAST_WAIT_US || share < LEAST_SHARE {
            return WorkerNeed::Enough;
        }
        if self.idle < LEAST_IDLE {
            return WorkerNeed::Cores;
        }
        // By Little's law: the workers that would have been busy if nobody had waited.
        let busy = self.per_second * self.took_us / 1e6;
        let wanted = (busy * ROOM).ceil().max(self.limit + 1.0);
        match room {
            Some(most) if most <= self.limit => WorkerNeed::Memory(wanted),
            Some(most) => WorkerNeed::More(wanted.min(most)),
            None => WorkerNeed::More(wanted),
        }
    }
}

/// Returns how many workers the memory allows, and the private memory of one.
fn room(server: &ExaminedServer) -> Option<(f64, f64)> {
    let private = server
        .workers()
        .filter_map(|worker| worker["memory"]["private"].as_f64());
    let each = private.fold(0.0, f64::max);
    let now = server.workers().count() as f64;
    let available = server
        .span
        .after
        .pointer("/machine/memory/available")?
        .as_f64()?;
    (each > 0.0).then(|| ((now + available / 2.0 / each).floor(), each))
}

fn advise(examination: &Examination, told: &str, wait_us: f64, wanted: f64) -> Advice {
    let line = format!("MaxRequestWorkers {wanted}");
    let configuration = &examination.configuration;
    let change = match configuration.find("MaxClients") {
        Some(_) => configuration.set("MaxClients", &line),
        None => configuration.set("MaxRequestWorkers", &line),
    };
    Advice {
        what: "requests wait for a worker although cores are idle".to_owned(),
        measured: told.to_owned(),
        figures: vec![
            figure("wait", wait_us / 1e3, "ms a request"),
            figure("wanted", wanted, "workers"),
        ],
        change,
        gain: gain::of_lines_with(
            examination,
            &[&line],
            &examination.example(),
            "-c 32 --metric p99",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_workers_are_needed_only_where_cores_and_memory_are_free() {
        // 20 requests a second of 50 ms wait for 200 ms: 5 workers would be busy.
        let queue = |wait_us: f64, idle: f64| QueueFacts {
            per_second: 20.0,
            wait_us,
            took_us: 50_000.0 + wait_us,
            limit: 1.0,
            idle,
        };
        assert_eq!(queue(200_000.0, 0.9).need(None), WorkerNeed::More(7.0));
        assert_eq!(queue(200_000.0, 0.9).need(Some(4.0)), WorkerNeed::More(4.0));
        assert_eq!(
            queue(200_000.0, 0.9).need(Some(1.0)),
            WorkerNeed::Memory(7.0)
        );
        assert_eq!(queue(200_000.0, 0.05).need(None), WorkerNeed::Cores);
        assert_eq!(queue(500.0, 0.9).need(None), WorkerNeed::Enough);
        assert_eq!(queue(2_000.0, 0.9).need(None), WorkerNeed::Enough);
    }
}

//! Decides when a team of workers is overloaded, and how many requests may wait meanwhile.
//!
//! As in CoDel (RFC 8289), a queue that drains within a moment does no harm. A team is overloaded
//! when for a whole interval even the shortest wait is above the target. The overload lasts until
//! a worker stays idle. `shedding` asks this module, which knows no clock and no queue.

use mehari_config::QueueTarget;
use std::time::{Duration, Instant};

/// How long every wait must be above the target for an overload to begin, and how long a worker
/// must be idle for it to end.
const INTERVAL: Duration = Duration::from_millis(100);
/// The target of `Auto` in times of a request. A shorter wait is a matter of chance.
const REQUESTS: u32 = 10;
/// The least target of `Auto`. A shorter wait does not interrupt what a person is doing, and the
/// server absorbs a burst of short requests.
const LEAST_TARGET: Duration = Duration::from_secs(1);
/// The weight of the latest request in the average time of a request is one part in this number.
const MEMORY: u64 = 16;
/// While a team is overloaded, work for this time may wait: workers do not idle if the front or the
/// clients are late by a moment.
const LEAST_ROOM: Duration = Duration::from_millis(20);
/// The bounds of Retry-After, in seconds.
const RETRY: (u64, u64) = (1, 30);

/// A team's experience with the waits in its queue.
#[derive(Debug, Default)]
pub(crate) struct Overload {
    /// The average time of a request in a worker, in nanoseconds. 0: no request has ended.
    service_ns: u64,
    /// Since when each wait was above the target.
    above_since: Option<Instant>,
    /// Since when a worker was idle at each look, during an overload.
    idle_since: Option<Instant>,
    /// The current overload, and the requests that it refused.
    current: Option<(Instant, u64)>,
}

/// An overload that is over.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OverloadEnd {
    pub lasted: Duration,
    pub refused: u64,
}

impl Overload {
    /// Counts the time that a request took in its worker. Called after each request.
    pub fn note_service(&mut self, took: Duration) {
        let took = took.as_nanos() as u64;
        self.service_ns = match self.service_ns {
            0 => took,
            before => before - before / MEMORY + took / MEMORY,
        };
    }

    pub fn service(&self) -> Duration {
        Duration::from_nanos(self.service_ns)
    }

    /// Returns the longest wait that is no overload. `most`: a limit for the measured target.
    /// `None`: no wait is an overload.
    pub fn target(&self, setting: QueueTarget, most: Duration) -> Option<Duration> {
        match setting {
            QueueTarget::Off => None,
            QueueTarget::Time(time) => Some(time),
            QueueTarget::Auto if self.service_ns == 0 => None,
            QueueTarget::Auto => Some((self.service() * REQUESTS).max(LEAST_TARGET).min(most)),
        }
    }

    pub fn is_current(&self) -> bool {
        self.current.is_some()
    }

    /// Notes how long the oldest request has waited. Returns true if an overload begins.
    pub fn note_wait(&mut self, wait: Duration, target: Duration, now: Instant) -> bool {
        if self.is_current() {
            return false;
        }
        if wait <= target {
            self.above_since = None;
            return false;
        }
        let since = *self.above_since.get_or_insert(now);
        if now.saturating_duration_since(since) < INTERVAL {
            return false;
        }
        self.current = Some((now, 0));
        true
    }

    /// Notes whether a worker is idle now. Returns the overload that this ends.
    pub fn note_idle(&mut self, is_idle: bool, now: Instant) -> Option<OverloadEnd> {
        if !is_idle {
            self.idle_since = None;
            return None;
        }
        self.above_since = None;
        let (since, refused) = self.current?;
        let idle_since = *self.idle_since.get_or_insert(now);
        if now.saturating_duration_since(idle_since) < INTERVAL {
            return None;
        }
        (self.current, self.idle_since) = (None, None);
        let lasted = now.saturating_duration_since(since);
        Some(OverloadEnd { lasted, refused })
    }

    /// Returns how many requests may wait during an overload: as many as keep the workers busy.
    pub fn room(&self, workers: u32, target: Duration) -> usize {
        let service = self.service().max(Duration::from_nanos(1));
        let time = (service * 2).max(LEAST_ROOM).min(target / 2);
        let room = time.as_nanos() * u128::from(workers) / service.as_nanos();
        usize::try_from(room.max(1)).unwrap_or(usize::MAX)
    }

    /// Counts a refused request. Returns the seconds after which the client may try again: as many
    /// as the overload has lasted, because what has lasted for long is likely to last.
    pub fn refuse(&mut self, now: Instant) -> u16 {
        let Some((since, refused)) = &mut self.current else {
            return RETRY.0 as u16;
        };
        *refused += 1;
        let lasted = now.saturating_duration_since(*since).as_secs();
        lasted.clamp(RETRY.0, RETRY.1) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Duration = Duration::from_millis(500);
    const MS: Duration = Duration::from_millis(1);

    fn overloaded() -> (Overload, Instant) {
        let (mut overload, start) = (Overload::default(), Instant::now());
        assert!(!overload.note_wait(TARGET + MS, TARGET, start));
        assert!(overload.note_wait(TARGET + MS, TARGET, start + INTERVAL));
        (overload, start + INTERVAL)
    }

    #[test]
    fn only_waits_above_the_target_for_an_interval_are_an_overload() {
        let (mut overload, start) = (Overload::default(), Instant::now());
        for ms in 0..1000 {
            // One wait in a hundred milliseconds is short.
            let wait = if ms % 99 == 0 { TARGET } else { TARGET * 9 };
            assert!(!overload.note_wait(wait, TARGET, start + MS * ms), "{ms}");
        }
        assert!(overloaded().0.is_current());
    }

    #[test]
    fn an_overload_begins_once_and_ends_when_a_worker_is_idle() {
        let (mut overload, now) = overloaded();
        assert!(!overload.note_wait(TARGET * 2, TARGET, now + INTERVAL * 2));
        overload.refuse(now);
        overload.refuse(now);
        // A worker that is idle for a moment does not end it.
        assert_eq!(overload.note_idle(true, now), None);
        assert_eq!(overload.note_idle(false, now + INTERVAL), None);
        assert_eq!(overload.note_idle(true, now + INTERVAL), None);
        let ended = overload.note_idle(true, now + TARGET);
        let (lasted, refused) = (TARGET, 2);
        assert_eq!(ended, Some(OverloadEnd { lasted, refused }));
        assert_eq!(overload.note_idle(true, now + TARGET * 2), None);
        assert!(!overload.note_wait(TARGET * 2, TARGET, now + TARGET));
    }

    #[test]
    fn the_measured_target_follows_the_time_of_a_request() {
        let mut overload = Overload::default();
        let most = Duration::from_secs(5);
        let target = |overload: &Overload| overload.target(QueueTarget::Auto, most);
        assert_eq!(target(&overload), None, "nothing is measured");
        overload.note_service(MS);
        assert_eq!(target(&overload), Some(LEAST_TARGET));
        for _ in 0..200 {
            overload.note_service(MS * 200);
        }
        let measured = target(&overload).expect("a target");
        assert!(
            measured > MS * 1900 && measured <= MS * 2000,
            "{measured:?}"
        );
        overload.note_service(Duration::from_secs(3600));
        assert_eq!(target(&overload), Some(most));
        let fixed = QueueTarget::Time(MS);
        assert_eq!(overload.target(fixed, most), Some(MS));
        assert_eq!(overload.target(QueueTarget::Off, most), None);
    }

    #[test]
    fn the_room_keeps_the_workers_busy_and_is_served_within_half_the_target() {
        for (service, workers, room) in [
            (Duration::from_micros(50), 2, 800),
            (MS, 2, 40),
            (MS * 100, 4, 8),
            // Two requests for each worker would take longer than half the target.
            (MS * 400, 4, 2),
            (MS * 9000, 4, 1),
        ] {
            let mut overload = Overload::default();
            overload.note_service(service);
            assert_eq!(overload.room(workers, TARGET), room, "{service:?}");
        }
    }

    #[test]
    fn clients_may_come_back_after_as_long_as_the_overload_has_lasted() {
        let (mut overload, now) = overloaded();
        let after = [0, 1, 12, 4000].map(|s| overload.refuse(now + Duration::from_secs(s)));
        assert_eq!(after, [1, 1, 12, 30]);
    }
}

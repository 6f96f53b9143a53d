//! Counts what a console or `mehari top` shows of requests, while somebody watches.
//!
//! The first look begins the counting. Each further look prolongs the counting, and the sweep ends
//! the counting when nobody has looked for a while. An unwatched server counts nothing here.

use super::places::{PlaceReport, Places};
use mehari_observe::{Counters, Latency};
use std::time::{Duration, Instant};

/// How long the counting goes on after the last look.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Watch {
    began: Instant,
    looked: Instant,
    total: Counters,
    queue_wait: Latency,
    places: Places,
}

/// A request that has ended.
#[derive(Debug, Clone, Copy)]
pub struct EndedRequest {
    pub status: u16,
    /// Bytes of the response's body.
    pub bytes: u64,
    pub took: Duration,
    /// The part of `took` in which the request waited for a worker.
    pub queued: Duration,
    /// Whether the response came from the cache.
    pub is_cache_hit: bool,
}

/// What was counted since somebody began to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchReport {
    /// Milliseconds since the counting began.
    pub counted_ms: u64,
    pub requests: u64,
    pub bytes: u64,
    /// The responses of each class, from 1xx to 5xx.
    pub classes: [u64; 5],
    /// Durations: the largest number of microseconds of a bucket, and the requests in the bucket.
    pub latency: Vec<(u64, u64)>,
    /// The same of the time in which requests waited for a worker.
    pub queue_wait: Vec<(u64, u64)>,
}

impl Watch {
    pub fn begin(now: Instant) -> Watch {
        Watch {
            began: now,
            looked: now,
            total: Counters::default(),
            queue_wait: Latency::default(),
            places: Places::default(),
        }
    }

    /// Counts a request that the place `path` of a host has answered.
    pub fn record(&mut self, host: u32, path: &[u8], request: EndedRequest) {
        self.places.record(host, path, &request);
        let us = |time: Duration| time.as_micros() as u64;
        self.total
            .record(request.status, request.bytes, us(request.took));
        self.queue_wait.record(us(request.queued));
    }

    pub fn is_left(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.looked) > PATIENCE
    }

    /// Returns the counts of each place.
    pub fn places(&self) -> Vec<PlaceReport> {
        self.places.report()
    }

    /// Returns the counts, and prolongs the counting.
    pub fn look(&mut self, now: Instant) -> WatchReport {
        self.looked = now;
        WatchReport {
            counted_ms: now.saturating_duration_since(self.began).as_millis() as u64,
            requests: self.total.requests(),
            bytes: self.total.bytes(),
            classes: self.total.classes(),
            latency: self.total.latency.counts(),
            queue_wait: self.queue_wait.counts(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_lasts_while_somebody_looks() {
        let start = Instant::now();
        let mut watch = Watch::begin(start);
        let ended = EndedRequest {
            status: 503,
            bytes: 7,
            took: Duration::from_micros(5),
            queued: Duration::from_micros(3),
            is_cache_hit: false,
        };
        watch.record(0, b"/x", ended);
        assert_eq!(watch.places().len(), 1);
        assert!(!watch.is_left(start + PATIENCE));
        let report = watch.look(start + PATIENCE);
        assert_eq!((report.requests, report.bytes), (1, 7));
        assert_eq!(report.classes, [0, 0, 0, 0, 1]);
        assert_eq!(report.latency, [(5, 1)]);
        assert_eq!(report.queue_wait, [(3, 1)]);
        assert!(!watch.is_left(start + PATIENCE * 2));
        assert!(watch.is_left(start + PATIENCE * 3));
    }
}

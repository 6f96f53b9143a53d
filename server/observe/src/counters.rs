//! Counts responses by class, bytes and durations, for whoever watches the server.
//!
//! The front's thread writes the totals, and any thread reads them. Each number is exact, but the
//! numbers together are not a snapshot of one instant.

use crate::latency::Latency;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Debug, Default)]
pub struct Counters {
    requests: AtomicU64,
    bytes: AtomicU64,
    /// The number of responses of each class, from 1xx to 5xx.
    classes: [AtomicU64; 5],
    pub latency: Latency,
}

impl Counters {
    /// Counts the end of a response, whether the response is complete or not.
    pub fn record(&self, status: u16, bytes: u64, total_us: u64) {
        self.requests.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        if let Some(class) = usize::from(status / 100)
            .checked_sub(1)
            .and_then(|class| self.classes.get(class))
        {
            class.fetch_add(1, Relaxed);
        }
        self.latency.record(total_us);
    }

    /// Returns the number of answered requests.
    pub fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }

    /// Returns the number of bytes sent in response bodies.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Returns the number of responses for each first digit of the status, 1 to 5.
    pub fn classes(&self) -> [u64; 5] {
        std::array::from_fn(|class| self.classes[class].load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_response_is_counted_once_in_its_class() {
        let counters = Counters::default();
        for status in [100, 200, 204, 301, 404, 500, 599, 0, 700] {
            counters.record(status, 10, 5);
        }
        assert_eq!(counters.requests(), 9);
        assert_eq!(counters.bytes(), 90);
        assert_eq!(counters.classes(), [1, 2, 1, 1, 2]);
        assert_eq!(counters.latency.count(), 9);
    }
}

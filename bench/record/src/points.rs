//! A record as series to draw or print: what the timeline and the histograms show, made even.
//!
//! The timeline's first and last bucket are only partly inside the run, and buckets in which
//! nothing ended are absent; rates here are over the part inside, and silence is a zero.

use crate::{Latency, Record};

/// One stretch of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub start_unix_us: u64,
    /// Of its middle, from the start of the run.
    pub seconds: f64,
    pub completed: u64,
    pub failed: u64,
    pub completed_per_second: f64,
    pub failed_per_second: f64,
    pub bytes_per_second: f64,
    /// p50, p90, p99 and the maximum in ns; `None` when nothing completed.
    pub latency_ns: Option<[u64; 4]>,
}

/// A part of a bucket shorter than this says more about the clock than about the server.
const LEAST_PART: f64 = 0.1;

impl Record {
    pub fn points(&self) -> Vec<Point> {
        let width_us = self.timeline.bucket_seconds * 1_000_000;
        let from = self.started_unix_us;
        let to = from + self.durations.measured_us + self.durations.drain_us;
        let mut points: Vec<Point> = Vec::new();
        let mut buckets = self.timeline.buckets.iter().peekable();
        let mut start = self.timeline.buckets.first().map_or(to, |bucket| {
            bucket.start_unix_us.min(from - from % width_us)
        });
        while start < to || buckets.peek().is_some() {
            let bucket = buckets.next_if(|bucket| bucket.start_unix_us == start);
            let inside = (start.max(from), (start + width_us).min(to));
            let covered_us = inside.1.saturating_sub(inside.0);
            let is_scrap = (covered_us as f64) < LEAST_PART * width_us as f64;
            if bucket.is_some() || !is_scrap {
                // Answers that came outside the stated time still count, over a whole bucket.
                let covered_us = if is_scrap { width_us } else { covered_us };
                let per_second = |count: u64| count as f64 * 1e6 / covered_us as f64;
                let middle = (inside.0 as f64 + inside.1 as f64) / 2.0;
                points.push(Point {
                    start_unix_us: start,
                    seconds: ((middle - from as f64) / 1e6).max(0.0),
                    completed: bucket.map_or(0, |b| b.completed),
                    failed: bucket.map_or(0, |b| b.failed),
                    completed_per_second: bucket.map_or(0.0, |b| per_second(b.completed)),
                    failed_per_second: bucket.map_or(0.0, |b| per_second(b.failed)),
                    bytes_per_second: bucket.map_or(0.0, |b| per_second(b.bytes)),
                    latency_ns: bucket.and_then(|b| percentiles(&b.response)),
                });
            }
            start += width_us;
        }
        points
    }
}

fn percentiles(latency: &Latency) -> Option<[u64; 4]> {
    (!latency.is_empty()).then(|| {
        [
            latency.value_at_percentile(50.0),
            latency.value_at_percentile(90.0),
            latency.value_at_percentile(99.0),
            latency.max(),
        ]
    })
}

/// The percentiles worth drawing for this many samples: denser towards the tail, and none with
/// fewer than ten samples beyond it.
pub fn percentile_steps(samples: u64) -> Vec<f64> {
    let mut steps = vec![0.0];
    let mut tail = 1.0f64;
    while tail * samples as f64 > 10.0 {
        for part in [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15] {
            let beyond = tail * part;
            if beyond < 1.0 && beyond * samples as f64 + 1e-6 >= 10.0 {
                steps.push(100.0 * (1.0 - beyond));
            }
        }
        tail /= 10.0;
    }
    steps
}

//! A record as an even series of points to draw or print.
//!
//! The timeline's first and last bucket lie only partly inside the run, and buckets without an
//! ended request are absent. The rates here cover the part inside the run, and an absent bucket is
//! a zero.

use crate::{Bucket, Latency, Record, Timeline, MAXIMUM_BUCKETS};

/// One interval of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub start_unix_us: u64,
    /// The middle of the interval, counted from the start of the run.
    pub seconds: f64,
    pub completed: u64,
    pub failed: u64,
    pub completed_per_second: f64,
    pub failed_per_second: f64,
    pub bytes_per_second: f64,
    /// p50, p90, p99 and the maximum in ns; `None` if no request completed.
    pub latency_ns: Option<[u64; 4]>,
}

/// The least part of a bucket inside the run. In a shorter part the clock dominates the rate.
const LEAST_PART: f64 = 0.1;

impl Record {
    /// Returns the points: at most twice [`MAXIMUM_BUCKETS`]. If silence makes the series longer,
    /// the intervals are wider.
    pub fn points(&self) -> Vec<Point> {
        let span = Span::of(self);
        let wide;
        let timeline = if span.holds(&self.timeline) {
            &self.timeline
        } else {
            wide = span.widened(self.timeline.clone());
            &wide
        };
        let width_us = timeline.bucket_seconds * 1_000_000;
        let mut buckets = timeline.buckets.iter().peekable();
        let first = buckets
            .peek()
            .map_or(span.to, |bucket| bucket.start_unix_us);
        let mut start = first.min(span.from - span.from % width_us);
        let mut points: Vec<Point> = Vec::new();
        while start < span.to || buckets.peek().is_some() {
            let bucket = buckets.next_if(|bucket| bucket.start_unix_us == start);
            points.extend(span.point(start, width_us, bucket));
            start += width_us;
        }
        points
    }
}

/// The time of a run, including the drain.
struct Span {
    from: u64,
    to: u64,
}

impl Span {
    fn of(record: &Record) -> Span {
        let from = record.started_unix_us;
        let lasted = record.durations.measured_us + record.durations.drain_us;
        Span {
            from,
            to: from + lasted,
        }
    }

    fn holds(&self, timeline: &Timeline) -> bool {
        let starts = || timeline.buckets.iter().map(|bucket| bucket.start_unix_us);
        let (from, to) = (
            starts()
                .next()
                .map_or(self.from, |first| first.min(self.from)),
            starts()
                .next_back()
                .map_or(self.to, |last| last.max(self.to)),
        );
        (to - from) / (timeline.bucket_seconds * 1_000_000) <= 2 * MAXIMUM_BUCKETS as u64
    }

    fn widened(&self, mut timeline: Timeline) -> Timeline {
        while !self.holds(&timeline) {
            timeline.coarsen();
        }
        timeline
    }

    /// Returns the point of a bucket; `None` for a short part in which no request ended.
    fn point(&self, start: u64, width_us: u64, bucket: Option<&Bucket>) -> Option<Point> {
        let inside = (start.max(self.from), (start + width_us).min(self.to));
        let covered_us = inside.1.saturating_sub(inside.0);
        let is_scrap = (covered_us as f64) < LEAST_PART * width_us as f64;
        if bucket.is_none() && is_scrap {
            return None;
        }
        // Answers outside the stated time still count, over a whole bucket.
        let covered_us = if is_scrap { width_us } else { covered_us };
        let per_second = |count: u64| count as f64 * 1e6 / covered_us as f64;
        let middle = (inside.0 as f64 + inside.1 as f64) / 2.0;
        let (completed, failed, bytes) =
            bucket.map_or((0, 0, 0), |b| (b.completed, b.failed, b.bytes));
        Some(Point {
            start_unix_us: start,
            seconds: ((middle - self.from as f64) / 1e6).max(0.0),
            completed,
            failed,
            completed_per_second: per_second(completed),
            failed_per_second: per_second(failed),
            bytes_per_second: per_second(bytes),
            latency_ns: bucket.and_then(|bucket| percentiles(&bucket.response)),
        })
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

/// Returns the percentiles to draw for this many samples: denser towards the tail, and each with at
/// least ten samples beyond it.
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

//! Turns a record's timeline into points at even intervals, to draw or print.
//!
//! The first and the last bucket of a timeline lie only partly inside the run. The rates of their
//! points cover the part inside the run. Buckets in which no request ended are absent from a
//! timeline. Their points have zero rates.

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

/// The least part of a bucket that must lie inside the run for a rate. A rate over a shorter part
/// would depend on the inaccuracy of the clock.
const LEAST_PART: f64 = 0.1;

impl Record {
    /// Returns the points, at most twice [`MAXIMUM_BUCKETS`]. If long times without an ended
    /// request would make the series longer, the intervals are wider.
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

/// The time of a run, including the wait for the last answers.
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

    /// Returns the point of a bucket. Returns `None` if only a short part of the bucket lies inside
    /// the run and no request ended in it.
    fn point(&self, start: u64, width_us: u64, bucket: Option<&Bucket>) -> Option<Point> {
        let inside = (start.max(self.from), (start + width_us).min(self.to));
        let covered_us = inside.1.saturating_sub(inside.0);
        let is_scrap = (covered_us as f64) < LEAST_PART * width_us as f64;
        if bucket.is_none() && is_scrap {
            return None;
        }
        // Answers outside the run's time count, too. Their rate covers the whole bucket.
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

/// Returns the percentiles to draw for this many samples. They lie closer together near 100 %.
/// Beyond each percentile there are at least ten samples.
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

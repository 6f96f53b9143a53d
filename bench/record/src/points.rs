//! A record as series to draw or print: what the timeline and the histograms show, made even.
//!
//! The timeline's first and last bucket are only partly inside the run, and buckets in which
//! nothing ended are absent; rates here are over the part inside, and silence is a zero.

use crate::{Bucket, Latency, Record, Timeline, MAXIMUM_BUCKETS};

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
    /// At most twice [`MAXIMUM_BUCKETS`]: where silence makes it longer, stretches are wider.
    pub fn points(&self) -> Vec<Point> {
        let span = Span::of(self);
        let wide;
        let timeline = match span.holds(&self.timeline) {
            true => &self.timeline,
            false => {
                wide = span.widened(self.timeline.clone());
                &wide
            }
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

/// The time of a run, drain included.
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

    /// `None` for a scrap in which nothing ended.
    fn point(&self, start: u64, width_us: u64, bucket: Option<&Bucket>) -> Option<Point> {
        let inside = (start.max(self.from), (start + width_us).min(self.to));
        let covered_us = inside.1.saturating_sub(inside.0);
        let is_scrap = (covered_us as f64) < LEAST_PART * width_us as f64;
        if bucket.is_none() && is_scrap {
            return None;
        }
        // Answers that came outside the stated time still count, over a whole bucket.
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

//! Checks whether a run was steady. If a run warms up or becomes slower, a single number describes
//! neither its start nor its end.

use crate::figures;
use crate::statistics::{mean_and_deviation, theil_sen, trend_probability, warm_up_end};
use crate::{Judgement, Point, Record};

/// The least number of intervals that can show a trend.
const LEAST_STRETCHES: usize = 10;
/// A smaller change over the whole run is no trend. The change is a part of the mean.
const MOST_CHANGE: f64 = 0.05;
/// The most probability with which an unchanging run may show such a trend.
const LEVEL: f64 = 0.01;

impl Record {
    /// Adds the trends and the warm-up of the timeline to the verdict. Runs with stages and runs of
    /// fewer than ten whole intervals are not judged.
    pub fn judge_steadiness(&mut self) {
        let points = self.points();
        let inner = points.get(1..points.len().saturating_sub(1)).unwrap_or(&[]);
        if inner.len() < LEAST_STRETCHES || !self.plan.stages.is_empty() {
            return;
        }
        let rates: Vec<f64> = inner.iter().map(|p| p.completed_per_second).collect();
        self.judge_trend("throughput", &rates);
        let median = |point: &Point| point.latency_ns.map(|[p50, ..]| p50 as f64);
        if let Some(medians) = inner.iter().map(median).collect::<Option<Vec<f64>>>() {
            self.judge_trend("the median response time", &medians);
        }
        self.note_warm_up(&rates);
    }

    fn judge_trend(&mut self, what: &str, values: &[f64]) {
        let (level, _) = mean_and_deviation(values);
        let change = theil_sen(values) * (values.len() - 1) as f64 / level;
        if change.abs() > MOST_CHANGE && trend_probability(values) < LEVEL {
            self.verdict.add(
                "trend",
                Judgement::Suspect,
                format!(
                    "{what} changed by {:+.0} % in the course of the run (limit {:.0} %)",
                    change * 100.0,
                    MOST_CHANGE * 100.0
                ),
            );
        }
    }

    fn note_warm_up(&mut self, rates: &[f64]) {
        let Some(cut) = warm_up_end(rates).filter(|cut| *cut > 0) else {
            return;
        };
        let (before, _) = mean_and_deviation(&rates[..cut]);
        let (after, _) = mean_and_deviation(&rates[cut..]);
        if (before / after - 1.0).abs() > MOST_CHANGE {
            // `rates` lacks the first interval of the timeline, which belongs to the warm-up, too.
            let seconds = (cut as u64 + 1) * self.timeline.bucket_seconds;
            self.verdict.note(format!(
                "the first {} s look like a warm-up ({}/s, then {}/s): --warm-up leaves them out",
                seconds,
                figures::significant(before),
                figures::significant(after)
            ));
        }
    }
}

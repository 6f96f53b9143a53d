//! The observer of the native command: histograms and counts, constant in size however long the run.

use hdrhistogram::Histogram;

use crate::moment::nanoseconds;
use crate::observe::{Failure, FailureKind, Observer, Sample};
use crate::plan::Plan;

/// Nanoseconds up to one hour in three digits: 264 KiB each.
pub type Latencies = Histogram<u64>;

#[derive(Clone, Debug)]
pub struct Histograms {
    /// From the intended start; failed and unfinished requests are in it with the time they waited.
    pub response: Latencies,
    /// From the first byte written, answered requests only.
    pub service: Latencies,
    /// Answered requests by status class: 1xx in `[0]` to 5xx in `[4]`.
    pub statuses: [u64; 5],
    pub failures: [u64; FailureKind::ALL.len()],
    pub completed: u64,
    ceiling: u64,
}

impl Histograms {
    pub fn new(plan: &Plan) -> Histograms {
        let ceiling = 3_600_000_000_000u64.max(2 * nanoseconds(plan.connection.timeout));
        let latencies =
            || Latencies::new_with_bounds(1, ceiling, 3).expect("bounds and digits are in range");
        Histograms {
            response: latencies(),
            service: latencies(),
            statuses: [0; 5],
            failures: [0; FailureKind::ALL.len()],
            completed: 0,
            ceiling,
        }
    }
}

impl Observer for Histograms {
    const WRITE_TIMES: bool = false;

    fn completed(&mut self, sample: &Sample) {
        if !sample.measured {
            return;
        }
        self.completed += 1;
        self.statuses[usize::from(sample.status / 100).clamp(1, 5) - 1] += 1;
        self.response
            .saturating_record(sample.response().min(self.ceiling));
        self.service
            .saturating_record(sample.service().min(self.ceiling));
    }

    fn failed(&mut self, failure: &Failure) {
        if failure.measured {
            self.failures[failure.kind as usize] += 1;
            self.response
                .saturating_record(failure.at.since(failure.intended));
        }
    }
}

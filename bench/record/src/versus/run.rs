//! Reduces a run to the numbers that are compared.

use serde::Serialize;

use crate::statistics::Better;
use crate::{Quantile, Record};

/// The compared metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    Throughput,
    Mean,
    P50,
    P99,
}

impl Metric {
    pub const ALL: [Metric; 4] = [Metric::Throughput, Metric::Mean, Metric::P50, Metric::P99];

    pub fn name(self) -> &'static str {
        match self {
            Metric::Throughput => "throughput",
            Metric::Mean => "mean",
            Metric::P50 => "p50",
            Metric::P99 => "p99",
        }
    }

    pub fn better(self) -> Better {
        match self {
            Metric::Throughput => Better::Higher,
            Metric::Mean | Metric::P50 | Metric::P99 => Better::Lower,
        }
    }
}

/// The compared numbers of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// Good answers per second.
    pub throughput: f64,
    /// The mean response time in ns; `None` without a completed request.
    pub mean: Option<f64>,
    /// A percentile of the response time in ns. `None` if there are too few answers, or if the
    /// percentile falls on a request that never ended.
    pub p50: Option<f64>,
    pub p99: Option<f64>,
    pub attempted: u64,
    /// Answers with status 400 or more, failures, and unended requests.
    pub bad: u64,
}

impl Run {
    pub fn of(record: &Record) -> Run {
        let exact = |percentile| match record.quantile(percentile) {
            Quantile::Exactly(ns) => Some(ns as f64),
            Quantile::AtLeast(_) | Quantile::TooFew => None,
        };
        let counts = &record.counts;
        Run {
            throughput: record.throughput(),
            mean: (!record.response.is_empty()).then(|| record.response.mean()),
            p50: exact(50.0),
            p99: exact(99.0),
            attempted: counts.attempted,
            bad: counts.error_statuses() + counts.failures() + counts.censored,
        }
    }

    pub fn value(&self, metric: Metric) -> Option<f64> {
        match metric {
            // Zero has no ratio.
            Metric::Throughput => (self.throughput > 0.0).then_some(self.throughput),
            Metric::Mean => self.mean,
            Metric::P50 => self.p50,
            Metric::P99 => self.p99,
        }
    }
}

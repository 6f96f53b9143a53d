//! Compares variant B with variant A by record files: one record of each, or several independent
//! records of each.

use super::run::{Metric, Run};
use super::{findings_of, geometric_mean, Versus};
use crate::statistics::{batch_correlation, Comparison, Conclusion};
use crate::{Error, Point, Record};

/// The metric, its values for A and B, and their comparison.
type Compared = (Metric, f64, f64, Comparison);

/// Compares one record of each variant. The intervals of the two runs are the samples. They do not
/// show how much runs of one server differ, so the conclusion holds for these two runs only.
///
/// # Errors
///
/// [`Error::Statistic`] for a record with fewer than four whole intervals with completed requests.
pub fn versus_records(a: &Record, b: &Record, threshold: f64) -> Result<Versus, Error> {
    let (whole_a, whole_b) = (stretches(a)?, stretches(b)?);
    let (run_a, run_b) = (Run::of(a), Run::of(b));
    let mut compared: Vec<Compared> = Vec::new();
    for metric in Metric::ALL {
        let values = |points: &[Point]| {
            points
                .iter()
                .map(|point| stretch_value(point, metric))
                .collect::<Option<Vec<f64>>>()
        };
        let sides = (values(&whole_a), values(&whole_b));
        let totals = (run_a.value(metric), run_b.value(metric));
        if let ((Some(of_a), Some(of_b)), (Some(total_a), Some(total_b))) = (sides, totals) {
            let comparison = Comparison::unpaired(&of_a, &of_b)?;
            compared.push((metric, total_a, total_b, comparison));
        }
    }
    let mut result = unpaired(compared, threshold);
    result.cautions.push(
        "one record of each: the interval is about these two runs, not about what differs from run to run"
            .into(),
    );
    for (name, whole) in [("A", &whole_a), ("B", &whole_b)] {
        let rates: Vec<f64> = whole.iter().map(|p| p.completed_per_second).collect();
        if batch_correlation(&rates).is_some_and(|correlation| correlation > MOST_CORRELATED) {
            result.cautions.push(format!(
                "{name}'s throughput is correlated from one stretch to the next: the interval is too narrow"
            ));
        }
    }
    result.mark_bad([&run_a].into_iter(), [&run_b].into_iter());
    Ok(result)
}

/// Neighbouring intervals with a higher correlation are not independent.
const MOST_CORRELATED: f64 = 0.2;

/// Compares several independent records of each variant.
///
/// # Errors
///
/// [`Error::Statistic`] for fewer than two records of a variant, or for a record without a
/// completed request.
pub fn versus_many(a: &[Record], b: &[Record], threshold: f64) -> Result<Versus, Error> {
    let runs = |records: &[Record]| records.iter().map(Run::of).collect::<Vec<Run>>();
    let (runs_a, runs_b) = (runs(a), runs(b));
    let mut compared: Vec<Compared> = Vec::new();
    for metric in Metric::ALL {
        let values = |runs: &[Run]| {
            runs.iter()
                .map(|run| run.value(metric))
                .collect::<Option<Vec<f64>>>()
        };
        if let (Some(of_a), Some(of_b)) = (values(&runs_a), values(&runs_b)) {
            let comparison = Comparison::unpaired(&of_a, &of_b)?;
            let means = (
                geometric_mean(of_a.into_iter()),
                geometric_mean(of_b.into_iter()),
            );
            compared.push((metric, means.0, means.1, comparison));
        }
    }
    let mut result = unpaired(compared, threshold);
    result.mark_bad(runs_a.iter(), runs_b.iter());
    Ok(result)
}

fn unpaired(compared: Vec<Compared>, threshold: f64) -> Versus {
    let findings = findings_of(compared, threshold);
    let conclusion = findings.first().map(|finding| finding.conclusion);
    Versus {
        noise: Vec::new(),
        primary: Metric::Throughput,
        conclusion: conclusion.unwrap_or(Conclusion::Undecided),
        cautions: Vec::new(),
        blocks_needed: None,
        findings,
    }
}

/// Returns the intervals of a run in which requests were completed, without the first and the last
/// interval of the run.
fn stretches(record: &Record) -> Result<Vec<Point>, Error> {
    let points = record.points();
    let inner = points.get(1..points.len().saturating_sub(1)).unwrap_or(&[]);
    let whole: Vec<Point> = inner
        .iter()
        .filter(|point| point.completed > 0)
        .cloned()
        .collect();
    match whole.len() {
        0..=3 => Err(Error::Statistic(format!(
            "the run `{}` is too short to compare: at least 6 stretches of {} s are needed",
            record.plan.words, record.timeline.bucket_seconds
        ))),
        _ => Ok(whole),
    }
}

/// Returns the value of a metric in an interval. Returns `None` for the p99 of fewer than a
/// thousand answers, because it would be close to the maximum.
fn stretch_value(point: &Point, metric: Metric) -> Option<f64> {
    let [p50, _, p99, _] = point.latency_ns?;
    match metric {
        Metric::Throughput => Some(point.completed_per_second),
        Metric::P50 => Some(p50 as f64),
        Metric::P99 => (point.completed >= 1_000).then_some(p99 as f64),
        Metric::Mean => None,
    }
}

//! Compares variant B with variant A. The input is blocks of measured runs. The result is ratios
//! with intervals and a conclusion.
//!
//! Each block holds two runs of each variant in the order ABBA or BAAB, so drift within a block
//! cancels. The two runs of a variant in a block also give the noise floor: how much A differs from
//! A, and B from B.

mod records;
mod run;
pub mod words;

use serde::Serialize;

pub use self::records::{versus_many, versus_records};
pub use self::run::{Metric, Run};
use crate::statistics::{
    drift, holm, mean_and_deviation, Better, Comparison, Conclusion, LARGE, LEAST_BLOCKS,
};
use crate::Error;

/// The largest part of a variant's requests that may lack a good answer. With a larger part the
/// variant's speed has no meaning.
const MOST_BAD: f64 = 0.01;
const DRIFT_LEVEL: f64 = 0.01;

/// One block: two runs of each variant, in their order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Block {
    pub a: [Run; 2],
    pub b: [Run; 2],
}

/// B compared with A in one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    pub metric: Metric,
    pub better: Better,
    /// The geometric means of A and of B over all runs.
    pub a: f64,
    pub b: f64,
    #[serde(flatten)]
    pub comparison: Comparison,
    /// The probability after Holm's correction for the number of metrics.
    pub corrected_probability: f64,
    pub conclusion: Conclusion,
}

/// The noise floor in one metric: the differences of A/A and B/B.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Noise {
    pub metric: Metric,
    #[serde(flatten)]
    pub comparison: Comparison,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Versus {
    pub noise: Vec<Noise>,
    pub findings: Vec<Finding>,
    /// The metric that decides.
    pub primary: Metric,
    pub conclusion: Conclusion,
    /// Remarks that the reader should know before trusting the result.
    pub cautions: Vec<String>,
    /// If undecided: the number of blocks that would probably decide about a difference of the
    /// threshold's size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks_needed: Option<u64>,
}

/// Compares the variants. `threshold` is the practical threshold (0.02 is 2 %).
///
/// # Errors
///
/// [`Error::Statistic`] for fewer than two blocks, or for a run without a completed request.
pub fn versus(blocks: &[Block], primary: Metric, threshold: f64) -> Result<Versus, Error> {
    let noise = Metric::ALL
        .into_iter()
        .filter_map(|metric| Some((metric, repeats(blocks, metric)?)))
        .map(|(metric, pairs)| {
            let comparison = Comparison::paired(&pairs)?;
            Ok(Noise { metric, comparison })
        })
        .collect::<Result<Vec<Noise>, Error>>()?;
    let compared: Vec<(Metric, Vec<(f64, f64)>)> = Metric::ALL
        .into_iter()
        .filter_map(|metric| Some((metric, sides(blocks, metric)?)))
        .collect();
    let primary = if compared.iter().any(|(metric, _)| *metric == primary) {
        primary
    } else {
        Metric::Throughput
    };
    let findings = findings(&compared, threshold)?;
    let mut result = Versus {
        noise,
        primary,
        conclusion: Conclusion::Undecided,
        cautions: cautions(blocks, &findings),
        blocks_needed: None,
        findings,
    };
    result.conclude(blocks, threshold, &compared);
    Ok(result)
}

fn findings(compared: &[(Metric, Vec<(f64, f64)>)], threshold: f64) -> Result<Vec<Finding>, Error> {
    let compared = compared
        .iter()
        .map(|(metric, pairs)| {
            let a = geometric_mean(pairs.iter().map(|(a, _)| *a));
            let b = geometric_mean(pairs.iter().map(|(_, b)| *b));
            Ok((*metric, a, b, Comparison::paired(pairs)?))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    Ok(findings_of(compared, threshold))
}

/// Corrects for the number of metrics and draws each conclusion.
fn findings_of(compared: Vec<(Metric, f64, f64, Comparison)>, threshold: f64) -> Vec<Finding> {
    let probabilities: Vec<f64> = compared.iter().map(|(.., c)| c.probability).collect();
    compared
        .into_iter()
        .zip(holm(&probabilities))
        .map(|((metric, a, b, comparison), corrected)| Finding {
            metric,
            better: metric.better(),
            a,
            b,
            corrected_probability: corrected,
            conclusion: comparison.conclude(metric.better(), threshold, corrected),
            comparison,
        })
        .collect()
}

impl Versus {
    /// If too many requests of a variant got no good answer, adds a caution and leaves the
    /// comparison undecided.
    fn mark_bad<'r>(
        &mut self,
        a: impl Iterator<Item = &'r Run>,
        b: impl Iterator<Item = &'r Run>,
    ) -> bool {
        let mut marked = false;
        for (name, bad) in [("A", bad_part(a)), ("B", bad_part(b))] {
            if bad > MOST_BAD {
                self.conclusion = Conclusion::Undecided;
                self.cautions.push(format!(
                    "{:.1} % of {name}'s requests got no good answer: its speed says nothing",
                    bad * 100.0
                ));
                marked = true;
            }
        }
        marked
    }

    fn conclude(
        &mut self,
        blocks: &[Block],
        threshold: f64,
        compared: &[(Metric, Vec<(f64, f64)>)],
    ) {
        let of = |side: fn(&Block) -> &[Run; 2]| blocks.iter().flat_map(side);
        if self.mark_bad(of(|block| &block.a), of(|block| &block.b)) {
            return;
        }
        let decisive = self.findings.iter().find(|f| f.metric == self.primary);
        self.conclusion = decisive.map_or(Conclusion::Undecided, |finding| finding.conclusion);
        if self.conclusion == Conclusion::Undecided {
            let pairs = compared.iter().find(|(metric, _)| *metric == self.primary);
            self.blocks_needed = pairs.map(|(_, pairs)| blocks_needed(pairs, threshold));
        }
    }
}

/// Returns how many blocks would find a difference of the threshold's size with a probability of 80
/// % (at a level of 5 %). The number is 7.9 (s/delta)^2 + 2, but at least [`LEAST_BLOCKS`].
fn blocks_needed(pairs: &[(f64, f64)], threshold: f64) -> u64 {
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
    let (_, deviation) = mean_and_deviation(&differences);
    let needed = 7.9 * (deviation / (1.0 + threshold).ln()).powi(2) + 2.0;
    (needed.ceil() as u64).max(LEAST_BLOCKS as u64)
}

fn cautions(blocks: &[Block], findings: &[Finding]) -> Vec<String> {
    let mut cautions = Vec::new();
    if blocks.len() < LEAST_BLOCKS {
        cautions.push(format!(
            "{} blocks decide only about a factor of {LARGE} or more; at least {LEAST_BLOCKS} decide \
             about less",
            blocks.len()
        ));
    }
    let missing: Vec<&str> = Metric::ALL
        .into_iter()
        .filter(|metric| findings.iter().all(|finding| finding.metric != *metric))
        .map(Metric::name)
        .collect();
    if !missing.is_empty() {
        cautions.push(format!(
            "{} not compared: a run had too few good answers, or some that never came (run longer with -d)",
            missing.join(", ")
        ));
    }
    let trend = sides(blocks, Metric::Throughput)
        .map(|pairs| {
            pairs
                .iter()
                .map(|(a, b)| (b / a).ln())
                .collect::<Vec<f64>>()
        })
        .and_then(|differences| drift(&differences));
    if let Some((slope, probability)) = trend.filter(|(_, p)| *p < DRIFT_LEVEL) {
        cautions.push(format!(
            "the ratio drifts by {:+.1} % a block (p = {probability:.3}): something warms up or fills up",
            slope.exp_m1() * 100.0
        ));
    }
    cautions
}

/// Returns one pair for each block. Each value is the geometric mean of a variant's two runs.
fn sides(blocks: &[Block], metric: Metric) -> Option<Vec<(f64, f64)>> {
    blocks
        .iter()
        .map(|block| {
            let side = |runs: &[Run; 2]| {
                let (first, second) = (runs[0].value(metric)?, runs[1].value(metric)?);
                Some((first * second).sqrt())
            };
            Some((side(&block.a)?, side(&block.b)?))
        })
        .collect()
}

/// Returns pairs for the noise floor: the first and the second run of A, and of B, in each block.
fn repeats(blocks: &[Block], metric: Metric) -> Option<Vec<(f64, f64)>> {
    blocks
        .iter()
        .flat_map(|block| [&block.a, &block.b])
        .map(|runs| Some((runs[0].value(metric)?, runs[1].value(metric)?)))
        .collect()
}

fn bad_part<'r>(runs: impl Iterator<Item = &'r Run>) -> f64 {
    let (bad, attempted) = runs.fold((0, 0), |(bad, attempted), run| {
        (bad + run.bad, attempted + run.attempted)
    });
    bad as f64 / attempted.max(1) as f64
}

fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let logarithms: Vec<f64> = values.map(f64::ln).collect();
    mean_and_deviation(&logarithms).0.exp()
}

//! Computes the ratio B/A of one metric with a confidence interval, and the conclusion.
//!
//! B is equivalent if the whole interval lies within the threshold (two one-sided tests). B is
//! faster or slower if the interval does not contain 1, the probability is below 5 %, and the ratio
//! lies beyond the threshold. A difference is large if the whole interval lies beyond a factor of
//! [`LARGE`]; few samples are enough for it. Otherwise the comparison is undecided.

use serde::Serialize;

use super::{hodges_lehmann, mean_and_deviation, signed_rank_p, t_quantile, t_two_sided};
use crate::Error;

/// The least number of pairs. With fewer pairs the signed-rank test cannot reach 5 %, whatever the
/// values.
pub const LEAST_BLOCKS: usize = 6;
/// The least number of values on each side. With fewer values the rank-sum test cannot reach 5 %.
const LEAST_UNPAIRED: usize = 4;
const LEVEL: f64 = 0.05;
/// A difference whose whole interval lies beyond this factor is large. The t-test decides about a
/// large difference alone: the rank tests need more samples, and a departure from the normal
/// distribution changes little so far from 1.
pub const LARGE: f64 = 2.0;

/// Whether higher or lower values of a metric are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Higher,
    Lower,
}

/// The conclusion about B compared with A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Conclusion {
    Faster,
    Slower,
    Equivalent,
    Undecided,
}

/// A confidence interval, of 95 % unless another level was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// B/A; 1 means no difference.
    pub ratio: f64,
    pub interval: Interval,
    /// The probability by the t-test. [`Comparison::conclude`] takes this probability after the
    /// correction for the number of metrics.
    pub probability: f64,
    /// The probability by the exact signed-rank test; for pairs only.
    pub signed_rank_probability: Option<f64>,
    /// The Hodges-Lehmann estimate of the ratio, which is robust against outliers; for pairs only.
    pub robust_ratio: Option<f64>,
    /// The number of pairs, or of values on the smaller side.
    pub samples: usize,
    /// Whether the samples are enough for a conclusion.
    pub sufficient: bool,
}

impl Comparison {
    /// Compares pairs: a value of A and a value of B from each block.
    ///
    /// # Errors
    ///
    /// The values are too few or impossible.
    pub fn paired(pairs: &[(f64, f64)]) -> Result<Comparison, Error> {
        Comparison::paired_at(pairs, LEVEL)
    }

    /// As [`Comparison::paired`], with an interval that misses the true ratio with the probability
    /// `level`: 0.01 gives a 99 % confidence interval.
    ///
    /// # Errors
    ///
    /// The values are too few or impossible.
    pub fn paired_at(pairs: &[(f64, f64)], level: f64) -> Result<Comparison, Error> {
        let differences = pairs
            .iter()
            .map(|(a, b)| Ok(logarithm(*b)? - logarithm(*a)?))
            .collect::<Result<Vec<f64>, Error>>()?;
        at_least_two(differences.len())?;
        let (mean, deviation) = mean_and_deviation(&differences);
        let n = differences.len() as f64;
        let mut comparison = from_t(mean, deviation / n.sqrt(), n - 1.0, level);
        comparison.signed_rank_probability = Some(signed_rank_p(&differences));
        comparison.robust_ratio = Some(hodges_lehmann(&differences).exp());
        comparison.samples = differences.len();
        comparison.sufficient = differences.len() >= LEAST_BLOCKS;
        Ok(comparison)
    }

    /// Compares independent values with Welch's t-test on logarithms.
    ///
    /// # Errors
    ///
    /// The values are too few or impossible.
    pub fn unpaired(a: &[f64], b: &[f64]) -> Result<Comparison, Error> {
        let logarithms = |values: &[f64]| {
            values
                .iter()
                .map(|value| logarithm(*value))
                .collect::<Result<Vec<f64>, Error>>()
        };
        let (a, b) = (logarithms(a)?, logarithms(b)?);
        at_least_two(a.len().min(b.len()))?;
        let ((mean_a, deviation_a), (mean_b, deviation_b)) =
            (mean_and_deviation(&a), mean_and_deviation(&b));
        let (n, m) = (a.len() as f64, b.len() as f64);
        let (va, vb) = (deviation_a.powi(2) / n, deviation_b.powi(2) / m);
        let variance = va + vb;
        let degrees = if variance > 0.0 {
            variance.powi(2) / (va.powi(2) / (n - 1.0) + vb.powi(2) / (m - 1.0))
        } else {
            n + m - 2.0
        };
        let mut comparison = from_t(mean_b - mean_a, variance.sqrt(), degrees, LEVEL);
        comparison.samples = a.len().min(b.len());
        comparison.sufficient = comparison.samples >= LEAST_UNPAIRED;
        Ok(comparison)
    }

    /// Returns the conclusion. Ratios within `threshold` count as equal in practice (0.02 is 2 %).
    /// `probability` is already corrected.
    pub fn conclude(&self, better: Better, threshold: f64, probability: f64) -> Conclusion {
        let inside = 1.0 + threshold;
        let Interval { low, high } = self.interval;
        let differs = probability < LEVEL && (low > 1.0 || high < 1.0);
        let matters = self.ratio > inside || self.ratio < 1.0 / inside;
        if self.sufficient && low > 1.0 / inside && high < inside {
            Conclusion::Equivalent
        } else if !(differs && (self.large_factor().is_some() || self.sufficient && matters)) {
            Conclusion::Undecided
        } else if (self.ratio > 1.0) == (better == Better::Higher) {
            Conclusion::Faster
        } else {
            Conclusion::Slower
        }
    }

    /// Returns the least factor, 2 or more, that the interval leaves between A and B, whichever
    /// is larger. `None`: the difference is not large.
    pub fn large_factor(&self) -> Option<f64> {
        let factor = self.interval.low.max(1.0 / self.interval.high);
        (factor >= LARGE).then_some(factor)
    }
}

fn from_t(mean: f64, error: f64, degrees: f64, level: f64) -> Comparison {
    let reach = t_quantile(1.0 - level / 2.0, degrees) * error;
    let probability = match (error > 0.0, mean == 0.0) {
        (true, _) => t_two_sided(mean / error, degrees),
        (false, true) => 1.0,
        (false, false) => 0.0,
    };
    Comparison {
        ratio: mean.exp(),
        interval: Interval {
            low: (mean - reach).exp(),
            high: (mean + reach).exp(),
        },
        probability,
        signed_rank_probability: None,
        robust_ratio: None,
        samples: 0,
        sufficient: false,
    }
}

fn logarithm(value: f64) -> Result<f64, Error> {
    if value.is_finite() && value > 0.0 {
        Ok(value.ln())
    } else {
        Err(Error::Statistic(format!(
            "a measured value of {value} has no ratio to another; every run must complete requests"
        )))
    }
}

fn at_least_two(count: usize) -> Result<(), Error> {
    match count {
        0 | 1 => Err(Error::Statistic(
            "an interval needs at least two measurements of each".into(),
        )),
        _ => Ok(()),
    }
}

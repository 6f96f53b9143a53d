//! Computes whether a series has settled: its trend, and the end of its warm-up.

use statrs::function::erf::erfc;

/// Returns the median of the slopes between all pairs of values (Theil and Sen). It is robust
/// against outliers. Returns zero for fewer than two values.
pub fn theil_sen(values: &[f64]) -> f64 {
    let mut slopes: Vec<f64> = (0..values.len())
        .flat_map(|i| (i + 1..values.len()).map(move |j| (i, j)))
        .map(|(i, j)| (values[j] - values[i]) / (j - i) as f64)
        .collect();
    slopes.sort_by(f64::total_cmp);
    let middle = slopes.len() / 2;
    match slopes.len() {
        0 => 0.0,
        n if n % 2 == 1 => slopes[middle],
        _ => (slopes[middle - 1] + slopes[middle]) / 2.0,
    }
}

/// Returns the probability of at least this imbalance of rises and falls if there is no trend
/// (two-sided test of Mann and Kendall). The normal approximation with continuity correction is
/// good from ten values on.
pub fn trend_probability(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let balance: f64 = (0..values.len())
        .flat_map(|i| (i + 1..values.len()).map(move |j| (i, j)))
        .map(|(i, j)| (values[j] - values[i]).partial_cmp(&0.0))
        .map(|order| order.map_or(0.0, |order| order as i8 as f64))
        .sum();
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    if balance == 0.0 || deviation == 0.0 {
        1.0
    } else {
        erfc((balance.abs() - 1.0) / deviation / std::f64::consts::SQRT_2)
    }
}

/// Returns how many values to cut from the start so that the mean of the rest is most certain
/// (MSER). Returns `None` if half of the values would be cut: the series has then not settled.
pub fn warm_up_end(values: &[f64]) -> Option<usize> {
    let error = |cut: usize| {
        let rest = &values[cut..];
        let (mean, _) = super::mean_and_deviation(rest);
        let squares: f64 = rest.iter().map(|value| (value - mean).powi(2)).sum();
        squares / (rest.len() as f64).powi(2)
    };
    let half = values.len() / 2;
    let cut = (0..=half).min_by(|a, b| error(*a).total_cmp(&error(*b)))?;
    (cut < half || cut == 0).then_some(cut)
}

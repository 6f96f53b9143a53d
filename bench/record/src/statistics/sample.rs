//! Computes means, deviations and Student's t, and checks the assumptions of the t-test.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Returns the mean and the sample standard deviation (n - 1). The deviation of fewer than two
/// values is 0.
pub fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    if values.is_empty() {
        return (0.0, 0.0);
    }
    let mean = values.iter().sum::<f64>() / n;
    if values.len() < 2 {
        return (mean, 0.0);
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0)).sqrt())
}

/// Returns the value of t below which the part `probability` of the distribution lies.
pub fn t_quantile(probability: f64, degrees: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, degrees) {
        Ok(t) => t.inverse_cdf(probability),
        Err(_) => f64::INFINITY,
    }
}

/// Returns the probability that |t| is at least this large although there is no effect.
pub fn t_two_sided(t: f64, degrees: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, degrees) {
        Ok(distribution) => (2.0 * distribution.sf(t.abs())).min(1.0),
        Err(_) => 1.0,
    }
}

/// Returns the slope of the values over their order, and the probability of such a slope without
/// drift. Returns `None` for fewer than three values or if all values are equal.
pub fn drift(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    if values.len() < 3 {
        return None;
    }
    let (mean, _) = mean_and_deviation(values);
    let middle = (n - 1.0) / 2.0;
    let spread: f64 = (0..values.len()).map(|i| (i as f64 - middle).powi(2)).sum();
    let together: f64 = values
        .iter()
        .enumerate()
        .map(|(i, value)| (i as f64 - middle) * (value - mean))
        .sum();
    let slope = together / spread;
    let residue: f64 = values
        .iter()
        .enumerate()
        .map(|(i, value)| (value - mean - slope * (i as f64 - middle)).powi(2))
        .sum();
    let error = (residue / (n - 2.0) / spread).sqrt();
    (error > 0.0).then(|| (slope, t_two_sided(slope / error, n - 2.0)))
}

/// Returns the correlation of each value with the next value. Above 0.2, the batches are too short
/// to be independent. Returns `None` for fewer than three values or if all values are equal.
pub fn batch_correlation(values: &[f64]) -> Option<f64> {
    if values.len() < 3 {
        return None;
    }
    let (mean, _) = mean_and_deviation(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    (squares > 0.0).then(|| products / squares)
}

//! Corrects probabilities by Holm's method. Tests of several metrics at once would otherwise find
//! differences by chance.

/// Returns the corrected probabilities in the given order.
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut corrected = vec![1.0; probabilities.len()];
    let mut least = 0.0f64;
    for (passed, place) in order.into_iter().enumerate() {
        let remaining = (probabilities.len() - passed) as f64;
        least = least.max((probabilities[place] * remaining).min(1.0));
        corrected[place] = least;
    }
    corrected
}

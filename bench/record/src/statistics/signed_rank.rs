//! Computes Wilcoxon's exact signed-rank test and the Hodges-Lehmann estimate. Unlike the t-test,
//! both are robust against a few bad blocks.

/// Returns the probability of rank sums that differ at least as much (two-sided), if both signs are
/// equally likely. Returns 1 without a non-zero value.
///
/// Zeros are left out. Values of equal size share their mean rank. All sign patterns are counted
/// exactly, with a table of rank sums. The table uses doubled ranks, because shared ranks may be
/// halves.
pub fn signed_rank_p(differences: &[f64]) -> f64 {
    let ranks = doubled_ranks(differences);
    let total: usize = ranks.iter().map(|(rank, _)| rank).sum();
    let positive: usize = ranks
        .iter()
        .filter(|(_, is_positive)| *is_positive)
        .map(|(rank, _)| rank)
        .sum();
    let lesser = positive.min(total - positive);
    let mut patterns = vec![0.0f64; total + 1];
    patterns[0] = 1.0;
    for (rank, _) in &ranks {
        for sum in (*rank..=total).rev() {
            patterns[sum] += patterns[sum - rank];
        }
    }
    let at_most: f64 = patterns[..=lesser].iter().sum();
    (2.0 * at_most / 2f64.powi(ranks.len() as i32)).min(1.0)
}

/// Returns, for each non-zero value, twice its rank by size, and whether the value is positive.
fn doubled_ranks(differences: &[f64]) -> Vec<(usize, bool)> {
    let mut sorted: Vec<f64> = differences
        .iter()
        .copied()
        .filter(|value| *value != 0.0)
        .collect();
    sorted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let mut ranks = Vec::with_capacity(sorted.len());
    let mut first = 0;
    for group in sorted.chunk_by(|a, b| a.abs() == b.abs()) {
        // The values with the ranks first+1 ..= first+len share the mean rank. Twice the mean rank
        // is a whole number.
        let doubled = 2 * first + group.len() + 1;
        ranks.extend(group.iter().map(|value| (doubled, *value > 0.0)));
        first += group.len();
    }
    ranks
}

/// Returns the median of all pairwise means; zero without values.
pub fn hodges_lehmann(differences: &[f64]) -> f64 {
    let mut means: Vec<f64> = (0..differences.len())
        .flat_map(|i| (i..differences.len()).map(move |j| (i, j)))
        .map(|(i, j)| (differences[i] + differences[j]) / 2.0)
        .collect();
    means.sort_by(f64::total_cmp);
    let middle = means.len() / 2;
    match means.len() {
        0 => 0.0,
        n if n % 2 == 1 => means[middle],
        _ => (means[middle - 1] + means[middle]) / 2.0,
    }
}

//! Compares the statistics with values from other programs. A comment beside each number says how
//! it was computed.

#![allow(clippy::unwrap_used)]

use mehari_record::statistics::*;

fn close(measured: f64, expected: f64) {
    assert!(
        (measured - expected).abs() < 1e-6,
        "{measured} is not {expected}"
    );
}

/// The values of A and B in six blocks. The differences d = ln(B/A) have mean 0.0532675864 and
/// deviation 0.0237559692 (python3 `statistics`).
const PAIRS: [(f64, f64); 6] = [
    (1000.0, 1050.0),
    (1010.0, 1071.0),
    (990.0, 1010.0),
    (1005.0, 1068.0),
    (995.0, 1090.0),
    (1000.0, 1041.0),
];

#[test]
fn quantiles_of_t_equal_the_printed_tables() {
    // Values of Student's table for 97.5 %.
    for (degrees, expected) in [(4.0, 2.776), (5.0, 2.571), (7.0, 2.365), (9.0, 2.262)] {
        assert!((t_quantile(0.975, degrees) - expected).abs() < 6e-4);
    }
}

#[test]
fn ratio_and_interval_of_six_pairs_equal_the_hand_computed_values() {
    let comparison = Comparison::paired(&PAIRS).unwrap();
    // exp(mean); exp(mean -+ 2.5705818356 * deviation / sqrt 6).
    close(comparison.ratio, 1.0547118338725208);
    close(comparison.interval.low, 1.028742544264666);
    close(comparison.interval.high, 1.0813366849777555);
    // t = 5.4924471920, 5 degrees; the density integrated by Simpson's rule.
    close(comparison.probability, 0.0027315074829955543);
    // All six differences are positive: 2 of 2^6 sign patterns are at least as extreme.
    close(comparison.signed_rank_probability.unwrap(), 0.03125);
    // This is exp of the median of the 21 pairwise means.
    close(comparison.robust_ratio.unwrap(), 1.0551852167198699);
    assert!(comparison.sufficient);
}

#[test]
fn welch_interval_of_two_unpaired_sides_equals_the_hand_computed_interval() {
    let (a, b): (Vec<f64>, Vec<f64>) = PAIRS.iter().copied().unzip();
    let comparison = Comparison::unpaired(&a, &b).unwrap();
    // Standard error sqrt(va/6 + vb/6) = 0.0112433325, Welch degrees 5.7022936292.
    let reach = t_quantile(0.975, 5.702293629249137) * 0.011243332522868008;
    close(comparison.ratio, 0.053267586368822784f64.exp());
    close(
        comparison.interval.high,
        (0.053267586368822784 + reach).exp(),
    );
}

#[test]
fn signed_rank_probabilities_equal_a_count_of_all_sign_patterns() {
    // The expected values come from an enumeration of the 2^n patterns with python3 itertools.
    close(
        signed_rank_p(&[1.0, -2.0, 3.0, 4.0, -5.0, 6.0, 7.0, 8.0]),
        0.1484375,
    );
    close(
        signed_rank_p(&[1.0, 1.0, -1.0, 2.0, 2.0, 3.0, -4.0]),
        0.484375,
    );
    close(signed_rank_p(&[1.0, 2.0, 3.0, 4.0, 5.0]), 0.0625);
    close(signed_rank_p(&[0.0, 0.0]), 1.0);
}

#[test]
fn drift_is_the_least_squares_slope_with_its_probability() {
    // The values 1 2 3 5 4 have slope 9/10, standard error 0.2516611478, t 3.576 with 3 degrees.
    let (slope, probability) = drift(&[1.0, 2.0, 3.0, 5.0, 4.0]).unwrap();
    close(slope, 0.9);
    close(probability, 0.03738607346845224);
    assert_eq!(drift(&[1.0, 1.0, 1.0]), None);
}

#[test]
fn dependent_batches_show_their_correlation() {
    // The values 1 2 3 4 have the deviations -1.5 -.5 .5 1.5. The products of neighbours add up to
    // .75 - .25 + .75 = 1.25, and the squares to 5.
    close(batch_correlation(&[1.0, 2.0, 3.0, 4.0]).unwrap(), 0.25);
}

#[test]
fn holm_multiplies_the_smallest_by_the_number_of_tests() {
    let corrected = holm(&[0.01, 0.04, 0.03]);
    for (corrected, expected) in corrected.iter().zip([0.03, 0.06, 0.06]) {
        close(*corrected, expected);
    }
}

fn concluded(factors: &[f64], better: Better) -> Conclusion {
    let pairs: Vec<(f64, f64)> = factors.iter().map(|f| (100.0, 100.0 * f)).collect();
    let comparison = Comparison::paired(&pairs).unwrap();
    comparison.conclude(better, 0.02, comparison.probability)
}

#[test]
fn conclusion_says_how_b_compares_with_a() {
    let twice = [1.98, 2.0, 2.02, 2.0, 1.99, 2.01];
    assert_eq!(concluded(&twice, Better::Higher), Conclusion::Faster);
    assert_eq!(concluded(&twice, Better::Lower), Conclusion::Slower);
    let same = [1.001, 0.999, 1.002, 0.998, 1.0, 1.001];
    assert_eq!(concluded(&same, Better::Higher), Conclusion::Equivalent);
    let noisy = [1.5, 0.7, 1.3, 0.8, 1.4, 0.9];
    assert_eq!(concluded(&noisy, Better::Higher), Conclusion::Undecided);
}

#[test]
fn fewer_than_six_blocks_decide_nothing() {
    assert_eq!(
        concluded(&[2.0, 2.0, 2.0, 2.0, 2.01], Better::Higher),
        Conclusion::Undecided
    );
}

#[test]
fn a_run_without_completed_requests_has_no_ratio() {
    let error = Comparison::paired(&[(100.0, 0.0), (100.0, 90.0)]).unwrap_err();
    assert!(error.to_string().contains("must complete requests"));
}

/// Generates random numbers from a fixed seed (SplitMix64). The sum of twelve uniform numbers is
/// close to a normal distribution.
struct Normal(u64);

impl Normal {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn next(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

#[test]
fn comparisons_of_a_with_itself_find_a_difference_in_about_five_of_a_hundred() {
    let mut normal = Normal(7);
    let mut found = 0;
    for _ in 0..1_000 {
        let pairs: Vec<(f64, f64)> = (0..8)
            .map(|_| ((0.05 * normal.next()).exp(), (0.05 * normal.next()).exp()))
            .collect();
        let comparison = Comparison::paired(&pairs).unwrap();
        let conclusion = comparison.conclude(Better::Higher, 0.02, comparison.probability);
        found += usize::from(matches!(
            conclusion,
            Conclusion::Faster | Conclusion::Slower
        ));
    }
    // The limit is 5 % of a thousand plus three standard deviations of this count (6.9 each).
    assert!(found <= 70, "{found} false differences in 1000");
}

#[test]
fn trend_is_the_median_slope_with_mann_and_kendalls_probability() {
    // The ten slopes of 1 2 3 5 4 have the middle values 1 and 1.
    close(theil_sen(&[1.0, 2.0, 3.0, 5.0, 4.0]), 1.0);
    // There are nine rises and one fall: S = 8, deviation sqrt(5*4*15/18), z = 7/4.0825 = 1.71464.
    close(
        trend_probability(&[1.0, 2.0, 3.0, 5.0, 4.0]),
        0.08641073297370007,
    );
    close(trend_probability(&[2.0, 1.0, 2.0, 1.0, 2.0]), 1.0);
}

#[test]
fn warm_up_ends_where_the_mean_of_the_rest_is_most_certain() {
    // Python3 computes these errors of the mean: 17.1 without a cut, then 3.08, 0.265, 0.0494 and
    // 0.0625 after a cut of 1 to 4 values.
    let warming = [
        50.0, 80.0, 95.0, 100.0, 101.0, 99.0, 100.0, 100.0, 101.0, 99.0, 100.0, 100.0,
    ];
    assert_eq!(warm_up_end(&warming), Some(3));
    let rising: Vec<f64> = (0..20).map(f64::from).collect();
    assert_eq!(warm_up_end(&rising), None, "the series never settles");
}

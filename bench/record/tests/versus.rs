//! Tests conclusions from invented blocks whose true ratio is known.

#![allow(clippy::unwrap_used)]

use mehari_record::statistics::Conclusion;
use mehari_record::versus::*;
use mehari_record::*;

fn run(throughput: f64) -> Run {
    Run {
        throughput,
        mean: Some(32e9 / throughput),
        p50: Some(30e9 / throughput),
        p99: Some(60e9 / throughput),
        attempted: 10_000,
        bad: 0,
    }
}

/// Returns six blocks. Variant A has 1000/s, variant B has `b`. Each run varies by up to `wobble`.
fn blocks(b: f64, wobble: f64) -> Vec<Block> {
    let shift = |place: usize| 1.0 + wobble * (((place * 7) % 11) as f64 / 5.0 - 1.0);
    (0..6)
        .map(|block| Block {
            a: [
                run(1000.0 * shift(4 * block)),
                run(1000.0 * shift(4 * block + 3)),
            ],
            b: [
                run(1000.0 * b * shift(4 * block + 1)),
                run(1000.0 * b * shift(4 * block + 2)),
            ],
        })
        .collect()
}

fn concluded(blocks: &[Block]) -> Versus {
    versus(blocks, Metric::Throughput, 0.02).unwrap()
}

#[test]
fn variant_of_half_the_speed_is_slower_in_every_metric() {
    let result = concluded(&blocks(0.5, 0.01));
    assert_eq!(result.conclusion, Conclusion::Slower);
    assert_eq!(result.findings.len(), 4);
    for finding in &result.findings {
        assert_eq!(finding.conclusion, Conclusion::Slower, "{finding:?}");
        assert!(finding.corrected_probability >= finding.comparison.probability);
    }
    assert!((result.findings[0].comparison.ratio - 0.5).abs() < 0.01);
    assert!((result.findings[2].comparison.ratio - 2.0).abs() < 0.04);
    assert!(result.cautions.is_empty() && result.blocks_needed.is_none());
}

#[test]
fn variant_of_the_same_speed_is_equivalent_if_there_is_little_noise() {
    assert_eq!(
        concluded(&blocks(1.0, 0.005)).conclusion,
        Conclusion::Equivalent
    );
    let noisy = concluded(&blocks(1.0, 0.2));
    assert_eq!(noisy.conclusion, Conclusion::Undecided);
    assert!(noisy.blocks_needed.unwrap() > 6);
}

#[test]
fn noise_floor_is_the_difference_between_runs_of_one_variant() {
    let mut exact = blocks(2.0, 0.0);
    for block in &mut exact {
        block.a[1] = run(1100.0);
        block.b[1] = run(2200.0);
    }
    let noise = &concluded(&exact).noise[0];
    assert_eq!(noise.metric, Metric::Throughput);
    assert!((noise.comparison.ratio - 1.1).abs() < 1e-9);
    assert_eq!(noise.comparison.samples, 12);
}

#[test]
fn five_blocks_are_undecided_with_a_caution() {
    let result = concluded(&blocks(0.6, 0.01)[..5]);
    assert_eq!(result.conclusion, Conclusion::Undecided);
    let caution = "5 blocks decide only about a factor of 2 or more; at least 6 decide about less";
    assert_eq!(result.cautions[0], caution);
}

#[test]
fn large_difference_is_decided_by_two_blocks() {
    for (speed, conclusion) in [(1.0 / 17.0, Conclusion::Slower), (17.0, Conclusion::Faster)] {
        let result = concluded(&blocks(speed, 0.01)[..2]);
        assert_eq!(result.conclusion, conclusion);
        let factor = result.findings[0].comparison.large_factor().unwrap();
        assert!((15.0..=17.0).contains(&factor), "{factor}");
    }
}

#[test]
fn two_blocks_that_differ_much_from_one_another_decide_nothing() {
    let mut unsteady = blocks(4.0, 0.01);
    unsteady[1].b = [run(1000.0), run(1000.0)];
    assert_eq!(concluded(&unsteady[..2]).conclusion, Conclusion::Undecided);
}

#[test]
fn variant_with_fast_error_answers_is_not_faster() {
    let mut quick = blocks(2.0, 0.01);
    for block in &mut quick {
        block.b.iter_mut().for_each(|run| run.bad = 500);
    }
    let result = concluded(&quick);
    assert_eq!(result.conclusion, Conclusion::Undecided);
    assert!(result.cautions[0].starts_with("5.0 % of B's requests got no good answer"));
}

#[test]
fn metric_that_one_run_lacks_is_left_out_and_named() {
    let mut short = blocks(0.5, 0.01);
    short[3].a[1].p99 = None;
    let result = versus(&short, Metric::P99, 0.02).unwrap();
    assert_eq!(result.findings.len(), 3);
    assert_eq!(result.primary, Metric::Throughput);
    assert!(result.cautions[0].starts_with("p99 not compared"));
}

#[test]
fn ratio_that_drifts_gets_a_caution() {
    let mut drifting = blocks(1.0, 0.001);
    for (place, block) in drifting.iter_mut().enumerate() {
        block
            .b
            .iter_mut()
            .for_each(|run| run.throughput *= 1.0 + 0.1 * place as f64);
    }
    let cautions = concluded(&drifting).cautions;
    assert!(
        cautions.iter().any(|text| text.contains("drifts by")),
        "{cautions:?}"
    );
}

/// Returns a record of `rate` answers per second for `seconds`. The rate of each second varies a
/// little.
fn record(rate: u64, seconds: u64) -> Record {
    let mut record = Record::new(Plan::default(), Machine::default(), 1_795_291_200_000_000);
    record.durations.measured_us = seconds * 1_000_000;
    for second in 0..seconds {
        let rate = rate + (second * 7) % 5;
        for request in 0..rate {
            record.timeline.count(Event {
                ended_unix_us: record.started_unix_us
                    + second * 1_000_000
                    + request * 1_000_000 / rate,
                response_ns: Some(1_000_000_000 / rate),
                bytes: 100,
            });
            record.response.count(1_000_000_000 / rate);
            record.counts.completed += 1;
        }
    }
    record.counts.attempted = record.counts.completed;
    record.counts.statuses.insert(200, record.counts.completed);
    record
}

#[test]
fn comparison_of_two_records_has_the_caution_that_they_are_two_runs() {
    let result = versus_records(&record(500, 12), &record(1_000, 12), 0.02).unwrap();
    assert_eq!(result.conclusion, Conclusion::Faster);
    assert!((result.findings[0].comparison.ratio - 2.0).abs() < 0.02);
    assert!(result.cautions[0].contains("one record of each"));
    let error = versus_records(&record(500, 12), &record(500, 4), 0.02).unwrap_err();
    assert!(error.to_string().contains("too short to compare"));
}

#[test]
fn four_records_of_each_variant_are_enough_for_a_conclusion() {
    let many = |rate: u64| (0..4).map(|i| record(rate + i, 3)).collect::<Vec<Record>>();
    let result = versus_many(&many(1_000), &many(800), 0.02).unwrap();
    assert_eq!(result.conclusion, Conclusion::Slower);
    let three = versus_many(&many(1_000)[..3], &many(800)[..3], 0.02).unwrap();
    assert_eq!(three.conclusion, Conclusion::Undecided);
}

//! Tests records: written records can be read, other versions are refused, and merging loses
//! nothing.

#![allow(clippy::unwrap_used)]

use mehari_record::*;

/// Returns a record with a value in every field, started at the given second of 2026-11-21T20:00Z.
fn example(second: u64, answers: &[(u64, u16)]) -> Record {
    let plan = Plan {
        words: "2 connections, closed loop, 3 requests, GET http://127.0.0.1:8080/".into(),
        urls: vec!["http://127.0.0.1:8080/".into()],
        method: "GET".into(),
        schedule: "closed".into(),
        connections: 2,
        threads: 1,
        requests: Some(answers.len() as u64),
        protocol: "http/1.1".into(),
        keep_alive: true,
        ..Plan::default()
    };
    let machine = Machine {
        host: "east".into(),
        processor: "a processor".into(),
        processors: 2,
        memory_bytes: 8 << 30,
        kernel: "6.1.0".into(),
        core_crossing_ns: [60, 70],
        generator: "mehari 0.1.0".into(),
        cost: GeneratorCost::default(),
        cores_taken: vec![CoreUse {
            name: "perl".into(),
            processes: 3,
            share: 0.61,
        }],
    };
    let start = 1_795_291_200_000_000 + second * 1_000_000;
    let mut record = Record::new(plan, machine, start);
    record.durations.measured_us = 2_000_000;
    for (place, (response_ns, status)) in answers.iter().enumerate() {
        record.counts.attempted += 1;
        record.counts.completed += 1;
        *record.counts.statuses.entry(*status).or_default() += 1;
        record.response.count(*response_ns);
        record.service.count(*response_ns);
        record.timeline.count(Event {
            ended_unix_us: start + place as u64 * 700_000,
            response_ns: Some(*response_ns),
            bytes: 200,
        });
    }
    record.counts.attempted += 1;
    record.counts.fail("timeout");
    record.unended.count(1_000_000_000);
    record.verdict.add(
        "pacing",
        Judgement::Suspect,
        "99.2 % of the planned requests were sent in time (at least 99.5 % expected)",
    );
    record
}

#[test]
fn example_file_of_the_documentation_equals_a_written_record() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example.json");
    let written = example(0, &[(1_500_000, 200), (2_500_000, 200), (3_500_000, 503)]).to_json();
    if std::env::var_os("UPDATE_EXAMPLES").is_some() {
        std::fs::write(file, &written).unwrap();
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), written);
}

#[test]
fn written_record_is_read_back_unchanged() {
    let record = example(0, &[(1_500_000, 200), (2_500_000, 503)]);
    assert_eq!(Record::from_json(&record.to_json(), "a").unwrap(), record);
}

#[test]
fn later_minor_version_with_unknown_fields_can_be_read() {
    let text = example(0, &[(1_000, 200)]).to_json().replacen(
        "\"version\": \"1.2\"",
        "\"version\": \"1.7\", \"unheard_of\": [1]",
        1,
    );
    assert_eq!(Record::from_json(&text, "a").unwrap().counts.completed, 1);
}

fn refusal(text: &str) -> String {
    let error = Record::from_json(text, "a.json").unwrap_err().to_string();
    assert!(
        !error.contains('\n') && error.starts_with("a.json: "),
        "{error}"
    );
    error
}

#[test]
fn other_major_version_is_refused_and_named() {
    let text = example(0, &[]).to_json().replacen("\"1.2\"", "\"2.0\"", 1);
    let error = refusal(&text);
    assert!(error.contains("\"2.0\" is not understood; this program reads 1.x"));
}

#[test]
fn refusal_of_another_file_says_what_was_expected() {
    assert!(refusal("not json").contains("expected a JSON record"));
    assert!(refusal("{}").contains("\"format\": \"mehari-record\""));
    let text = example(0, &[(5, 200)]).to_json();
    assert!(
        refusal(&text.replacen("\"attempted\": 2", "\"attempted\": 3", 1)).contains("not the sum")
    );
    assert!(
        refusal(&text.replacen("\"hdr\": \"", "\"hdr\": \"!", 1)).contains("base64 HdrHistogram")
    );
    assert!(refusal(&text.replacen("2026-11-21T20:00:00Z", "yesterday", 1)).contains("RFC 3339"));
}

#[test]
fn merged_records_equal_the_record_of_one_generator() {
    let (a, b) = (
        example(0, &[(1_000_000, 200), (2_000_000, 503)]),
        example(0, &[(9_000_000, 200)]),
    );
    let both = merge(&[a.clone(), b.clone()]).unwrap();
    let mut expected = Latency::new();
    for ns in [1_000_000, 2_000_000, 9_000_000] {
        expected.count(ns);
    }
    assert_eq!(both.response, expected);
    assert_eq!(both.counts.attempted, 5);
    assert_eq!(both.counts.failed["timeout"], 2);
    assert_eq!(both.counts.statuses[&200], 2);
    assert_eq!(both.machines.len(), 2);
    assert_eq!(both.plan.connections, 4);
    assert_eq!(both.durations.measured_us, 2_000_000);
    assert_eq!(merge(&[b, a]).unwrap().response, expected);
    assert_eq!(both, Record::from_json(&both.to_json(), "both").unwrap());
}

#[test]
fn timelines_of_merged_records_are_aligned_by_the_wall_clock() {
    let merged = merge(&[
        example(0, &[(1_000, 200), (1_000, 200)]),
        example(1, &[(1_000, 200), (1_000, 200)]),
    ])
    .unwrap();
    let completed: Vec<u64> = merged
        .timeline
        .buckets
        .iter()
        .map(|b| b.completed)
        .collect();
    assert_eq!(completed, [2, 2]);
    assert_eq!(merged.durations.measured_us, 3_000_000);
    assert!(merged
        .verdict
        .reasons
        .iter()
        .any(|reason| reason.check == "overlap"));
}

#[test]
fn records_of_different_plans_do_not_merge() {
    let mut other = example(0, &[]);
    other.plan.schedule = "open".into();
    let error = merge(&[example(0, &[]), other]).unwrap_err().to_string();
    assert!(
        error.contains("schedule is `closed` in one record and `open`"),
        "{error}"
    );
}

#[test]
fn timeline_of_a_day_stays_bounded_and_complete() {
    let mut timeline = Timeline::new();
    for second in 0..86_400u64 {
        timeline.count(Event {
            ended_unix_us: (1_795_291_200 + second) * 1_000_000,
            response_ns: (second % 10 != 0).then_some(1_000_000),
            bytes: 10,
        });
    }
    assert!(timeline.buckets.len() <= MAXIMUM_BUCKETS);
    assert_eq!(timeline.bucket_seconds, 512);
    let completed: u64 = timeline.buckets.iter().map(|b| b.completed).sum();
    let failed: u64 = timeline.buckets.iter().map(|b| b.failed).sum();
    assert_eq!((completed, failed), (77_760, 8_640));
    let most = timeline
        .buckets
        .iter()
        .map(|b| b.response.max())
        .max()
        .unwrap();
    assert!(
        most.abs_diff(1_000_000) < 10_000,
        "{most} ns is not within 1 % of 1 ms"
    );
}

#[test]
fn percentile_needs_ten_samples_beyond_it() {
    let mut latency = Latency::new();
    let none = Latency::new();
    for _ in 0..999 {
        latency.count(1_000);
    }
    assert_eq!(latency.quantile(99.0, &none), Quantile::TooFew);
    latency.count(1_000);
    assert_eq!(latency.quantile(99.0, &none), Quantile::Exactly(1_000));
    assert_eq!(Latency::new().quantile(100.0, &none), Quantile::TooFew);
}

#[test]
fn requests_that_never_ended_rank_behind_all_ended_requests() {
    let (mut latency, mut unended) = (Latency::new(), Latency::new());
    for ns in 1..=100 {
        latency.count(ns);
    }
    // Half of 120 requests were answered within 60 ns. The unended requests rank behind them,
    // however short they waited.
    for _ in 0..20 {
        unended.count(2);
    }
    assert_eq!(latency.quantile(50.0, &unended), Quantile::Exactly(60));
    assert_eq!(latency.quantile(83.3, &unended), Quantile::Exactly(100));
    // Less than 90 % of the requests were answered. The result is the waiting time of the unended
    // request with rank 108, a lower bound.
    assert_eq!(latency.quantile(90.0, &unended), Quantile::AtLeast(88));
    assert_eq!(latency.quantile(100.0, &unended), Quantile::AtLeast(100));
    unended.count(500);
    assert_eq!(latency.quantile(100.0, &unended), Quantile::AtLeast(500));
    assert_eq!(
        Latency::new().quantile(50.0, &unended),
        Quantile::AtLeast(2)
    );
}

fn keys(value: &serde_json::Value, found: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                // The names in these three maps are data, not fields.
                if !["statuses", "failed", "other"].contains(&name.as_str()) {
                    keys(value, found);
                }
                found.insert(name.clone());
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

#[test]
fn every_field_of_a_record_is_documented() {
    let documented = include_str!("../../../docs/reference/records.md");
    let mut record = example(0, &[(1_000, 200)]);
    record.plan = Plan {
        arrivals: Some("poisson".into()),
        rate: Some(1.0),
        stages: vec![Stage {
            seconds: 1.0,
            from: 1.0,
            to: 2.0,
        }],
        requests: Some(1),
        seconds: Some(1.0),
        timeout_seconds: Some(1.0),
        think_seconds: Some(1.0),
        throttle: Some(1.0),
        seed: Some(1),
        other: [("x".to_owned(), 1.into())].into(),
        ..record.plan
    };
    let mut found = std::collections::BTreeSet::new();
    keys(&serde_json::to_value(&record).unwrap(), &mut found);
    assert!(found.len() > 60, "{} fields", found.len());
    for name in found {
        assert!(
            documented.contains(&format!("`{name}`")),
            "{name} is not in docs/reference/records.md"
        );
    }
}

fn paced(rates: &[u64]) -> Record {
    let mut record = Record::new(Plan::default(), Machine::default(), 1_795_291_200_000_000);
    record.durations.measured_us = rates.len() as u64 * 1_000_000;
    for (second, rate) in rates.iter().enumerate() {
        for request in 0..*rate {
            let moment = second as u64 * 1_000_000 + request * 1_000_000 / rate;
            record.timeline.count(Event {
                ended_unix_us: record.started_unix_us + moment,
                response_ns: Some(1_000_000),
                bytes: 1,
            });
        }
    }
    record.judge_steadiness();
    record
}

#[test]
fn run_that_becomes_slower_all_the_time_is_suspect() {
    let falling: Vec<u64> = (0..20).map(|second| 1_000 - 10 * second).collect();
    let verdict = paced(&falling).verdict;
    assert_eq!(verdict.judgement, Judgement::Suspect);
    assert!(
        verdict.reasons[0]
            .text
            .starts_with("throughput changed by -19 % in the course"),
        "{verdict:?}"
    );
}

#[test]
fn run_with_random_variation_and_short_run_are_not_suspect() {
    let wobbling: Vec<u64> = (0..20).map(|second| 1_000 + 50 * (second % 3)).collect();
    assert_eq!(paced(&wobbling).verdict, Verdict::default());
    assert_eq!(
        paced(&[100, 200, 300, 400, 500]).verdict,
        Verdict::default()
    );
}

#[test]
fn warm_up_within_the_measured_time_is_noted() {
    let mut rates = vec![300, 400, 700];
    rates.extend((0..20).map(|second| 1_000 + second % 2));
    let verdict = paced(&rates).verdict;
    assert!(
        verdict.notes[0].starts_with("the first 3 s look like a warm-up"),
        "{verdict:?}"
    );
}

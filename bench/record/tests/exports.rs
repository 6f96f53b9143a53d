//! Exports a run with a stall and an error burst, and reads the exports back.

#![allow(clippy::unwrap_used)]

use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::Histogram;
use mehari_record::export::{export, Format};
use mehari_record::*;

const START: u64 = 1_795_291_200_400_000;

/// Returns a run of 60 s at 1000/s. From second 20 the server stalls for 5 s and answers
/// afterwards. At second 40 requests fail.
fn stalled() -> Record {
    let plan = Plan {
        words: "32 connections, closed loop, 60 s, GET <http://127.0.0.1:8080/a&b>".into(),
        schedule: "open".into(),
        ..Plan::default()
    };
    let mut record = Record::new(plan, Machine::here("mehari 0.1.0"), START);
    record.durations.measured_us = 60_000_000;
    for request in 0..60_000u64 {
        let (second, spread) = (request / 1_000, (request * 7_919) % 1_000);
        let service_ns = 800_000 + spread * spread * 3;
        let intended_us = START + request * 1_000;
        let ended_us = match second {
            20..=24 => START + 25_000_000 + request % 1_000,
            _ => intended_us + service_ns / 1_000,
        };
        record.counts.attempted += 1;
        let response_ns = (ended_us - intended_us) * 1_000;
        let failed = second == 40 && request % 3 == 0;
        if failed {
            record.counts.fail("reset")
        } else {
            record.counts.completed += 1;
            *record.counts.statuses.entry(200).or_default() += 1;
            record.response.count(response_ns);
            record.service.count(service_ns);
        }
        record.timeline.count(Event {
            ended_unix_us: ended_us,
            response_ns: (!failed).then_some(response_ns),
            bytes: 300,
        });
    }
    record.counts.bytes_received = 18_000_000;
    record.verdict.add(
        "generator cpu",
        Judgement::Suspect,
        "generator threads used 74 % of a core (at most 70 % expected)",
    );
    record
}

fn text(format: Format) -> String {
    String::from_utf8(export(&stalled(), format)).unwrap()
}

#[test]
fn csv_has_a_row_for_every_second_with_zeros_if_nothing_ended() {
    let csv = text(Format::Csv);
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    assert_eq!(rows[0][4], "completed_per_second");
    assert_eq!(
        rows.len(),
        1 + 61,
        "60 s that begin inside a second touch 61"
    );
    let completed: u64 = rows[1..]
        .iter()
        .map(|row| row[2].parse::<u64>().unwrap())
        .sum();
    assert_eq!(completed, stalled().counts.completed);
    // Wall-clock second 22 lies inside the stall: no request ended, and there is no latency.
    assert_eq!(rows[1 + 22][2..5], ["0", "0", "0.000"]);
    assert_eq!(rows[1 + 22][7], "");
    // The first bucket holds 0.6 s of the run, and its rate covers this time.
    let first: f64 = rows[1][4].parse().unwrap();
    assert!((first - 1000.0).abs() < 20.0, "{first}");
}

#[test]
fn gnuplot_data_has_two_sets_with_numbers_in_every_row() {
    let data = text(Format::Gnuplot);
    let sets: Vec<&str> = data.split("\n\n\n").collect();
    assert_eq!(sets.len(), 2);
    for (set, columns) in sets.iter().zip([7, 4]) {
        let rows: Vec<&str> = set
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .collect();
        assert!(rows.len() > 10);
        for row in rows {
            let values: Vec<f64> = row.split(' ').map(|v| v.parse().unwrap()).collect();
            assert_eq!(values.len(), columns);
        }
    }
    let last = sets[1].lines().last().unwrap();
    assert!(
        last.starts_with("99.98"),
        "60,000 samples end near p99.983: {last}"
    );
}

#[test]
fn hdr_log_can_be_read_and_its_intervals_add_up_to_the_run() {
    let log = export(&stalled(), Format::HdrLog);
    let mut sum: Histogram<u64> = Histogram::new(2).unwrap();
    let mut tagged = 0;
    for entry in IntervalLogIterator::new(&log) {
        if let LogEntry::Interval(interval) = entry.unwrap() {
            let bytes = base64::Engine::decode(
                &base64::engine::general_purpose::STANDARD,
                interval.encoded_histogram(),
            )
            .unwrap();
            let histogram: Histogram<u64> =
                Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
            match interval.tag() {
                None => sum.add(&histogram).unwrap(),
                Some(_) => {
                    tagged += 1;
                    assert_eq!(histogram.len(), stalled().counts.completed);
                }
            }
        }
    }
    assert_eq!((sum.len(), tagged), (stalled().counts.completed, 2));
}

#[test]
fn page_is_one_file_with_escaped_texts_and_a_table_for_each_plot() {
    let page = text(Format::Html);
    assert!(page.contains("&lt;http://127.0.0.1:8080/a&amp;b&gt;"));
    for foreign in ["<script", "src=", "href=", "@import", "url("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert_eq!(
        page.matches("<svg ").count(),
        6,
        "three plots, wide and narrow"
    );
    assert_eq!(page.matches("role=\"img\" aria-label=").count(), 6);
    assert!(page.contains("SUSPECT") && page.contains("74 % of a core"));
    assert!(page.contains("<td>failed: reset"));
    assert!(!page.contains("NaN") && !page.contains("inf"));
}

#[test]
fn page_of_a_run_without_an_answer_is_complete() {
    let record = Record::new(Plan::default(), Machine::here("mehari"), START);
    let page = String::from_utf8(export(&record, Format::Html)).unwrap();
    assert!(page.contains("too few samples") && page.ends_with("</html>\n"));
    assert!(!page.contains("NaN") && !page.contains("inf"));
}

#[test]
fn formats_are_known_by_name_and_by_extension() {
    for (name, format) in Format::NAMES {
        assert_eq!(Format::named(name), Some(*format));
    }
    let of = |path: &str| Format::of_path(std::path::Path::new(path));
    assert_eq!(of("run.htm"), Some(Format::Html));
    assert_eq!(of("run.dat"), Some(Format::Gnuplot));
    assert_eq!(of("run.hlog"), Some(Format::HdrLog));
    assert_eq!(of("run"), None);
}

#[test]
fn pages_can_be_written_to_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = std::env::var_os("PAGE").map_or(folder.path().join("run.html"), Into::into);
    export::write(&stalled(), Format::Html, &path).unwrap();
    assert_eq!(
        std::fs::read(&path).unwrap().len(),
        text(Format::Html).len()
    );
    let missing = folder.path().join("no/such/folder.html");
    let error = export::write(&stalled(), Format::Html, &missing).unwrap_err();
    assert!(error.to_string().starts_with("cannot write "));
}

/// Replaces each number of the example by several hostile numbers, one number at a time.
#[test]
fn hostile_numbers_are_refused_or_exported_without_a_panic() {
    let example: serde_json::Value = serde_json::from_str(include_str!("example.json")).unwrap();
    let mut paths = Vec::new();
    numbers(&example, String::new(), &mut paths);
    assert!(paths.len() > 20, "{}", paths.len());
    for path in &paths {
        for hostile in [u64::MAX, 1 << 49, 0] {
            let mut changed = example.clone();
            *changed.pointer_mut(path).unwrap() = hostile.into();
            let Ok(record) = Record::from_json(&changed.to_string(), "x") else {
                continue;
            };
            for (_, format) in Format::NAMES {
                export(&record, *format);
            }
            let _ = merge(&[record.clone(), record]);
        }
    }
}

fn numbers(value: &serde_json::Value, path: String, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Number(_) => found.push(path),
        // The summary of a histogram is for people. Reading ignores the summary.
        serde_json::Value::Object(fields) if fields.contains_key("hdr") => {}
        serde_json::Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| numbers(value, format!("{path}/{name}"), found)),
        serde_json::Value::Array(values) => values
            .iter()
            .enumerate()
            .for_each(|(place, value)| numbers(value, format!("{path}/{place}"), found)),
        _ => {}
    }
}

#[test]
fn page_of_a_run_with_years_without_answers_stays_small() {
    let mut record = stalled();
    record.timeline.count(Event {
        ended_unix_us: START + 40 * 365 * 86_400 * 1_000_000,
        response_ns: Some(1),
        bytes: 1,
    });
    assert!(record.points().len() <= 2 * MAXIMUM_BUCKETS + 1);
    let completed: u64 = record.points().iter().map(|point| point.completed).sum();
    assert_eq!(completed, stalled().counts.completed + 1);
}

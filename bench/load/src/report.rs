//! Writes the native report: a record as a page of text, from a first sentence to the verdict.

use std::fmt::Write;

use mehari_record::figures::{bytes, count, duration, significant};
use mehari_record::{Judgement, Latency, Quantile, Record};

use crate::sentence;

const PERCENTILES: [(f64, &str); 5] = [
    (50.0, "p50"),
    (90.0, "p90"),
    (99.0, "p99"),
    (99.9, "p99.9"),
    (99.99, "p99.99"),
];

/// Returns the whole report with its last line end.
pub fn text(record: &Record) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "{}\n{}\n{}\n{}\n{}\n{}",
        sentence::of(record),
        heading(record),
        totals(record),
        latencies(record),
        lags(record),
        verdict(record)
    );
    out
}

fn heading(record: &Record) -> String {
    let times = &record.durations;
    let mut text = format!("{}\n", record.plan.words);
    let _ = write!(text, "measured {}", seconds(times.measured_us));
    if times.warm_up_us > 0 {
        let _ = write!(text, " after {} of warm-up", seconds(times.warm_up_us));
    }
    let _ = write!(
        text,
        ", {} generator thread{}",
        record.plan.threads,
        if record.plan.threads == 1 { "" } else { "s" }
    );
    if !record.server.is_empty() {
        let _ = write!(text, ", server {}", record.server);
    }
    if let Some(machine) = record.machines.first() {
        text.push_str(&machine.crossing_words());
    }
    for (name, address) in addresses(record) {
        let _ = write!(text, ", {name} at {address}");
    }
    text + "\n"
}

/// Returns the addresses of the URLs' host names.
fn addresses(record: &Record) -> impl Iterator<Item = (&str, &str)> {
    let found = record.plan.other.get("addresses");
    let pairs = found.and_then(|value| value.as_object());
    let pairs = pairs.into_iter().flatten().take(MOST_ADDRESSES);
    pairs.filter_map(|(name, address)| Some((name.as_str(), address.as_str()?)))
}

const MOST_ADDRESSES: usize = 3;

fn seconds(us: u64) -> String {
    duration(us * 1000)
}

fn totals(record: &Record) -> String {
    let counts = &record.counts;
    let took = record.took_us().max(1) as f64 / 1e6;
    let per_second = |value: u64| value as f64 / took;
    let mut text = format!(
        "Answered     {:>12}    {} requests/s, {}/s received\n",
        count(counts.completed),
        significant(per_second(counts.completed)),
        bytes(per_second(counts.bytes_received)),
    );
    let statuses: Vec<String> = counts
        .statuses
        .iter()
        .map(|(status, number)| format!("{status}: {}", count(*number)))
        .collect();
    if !statuses.is_empty() {
        let _ = writeln!(text, "  by status               {}", statuses.join(", "));
    }
    let classes: Vec<String> = counts
        .failed
        .iter()
        .map(|(class, number)| format!("{class}: {}", count(*number)))
        .collect();
    let _ = writeln!(
        text,
        "Failed       {:>12}    {}",
        count(counts.failures()),
        classes.join(", ")
    );
    if counts.censored > 0 {
        let _ = writeln!(
            text,
            "Unfinished   {:>12}    still under way at the end: times below that include them are marked ≥",
            count(counts.censored)
        );
    }
    let _ = writeln!(text, "Connections  {:>12}", count(counts.connections));
    text
}

fn latencies(record: &Record) -> String {
    let mut text = format!("{:<24}{:>10}{:>10}", "", "mean", "min");
    for (_, name) in PERCENTILES {
        let _ = write!(text, "{name:>11}");
    }
    let _ = writeln!(text, "{:>11}", "max");
    let none = Latency::new();
    row(
        &mut text,
        "Response time",
        &record.response,
        &record.unended,
    );
    row(&mut text, "Service time", &record.service, &none);
    row(&mut text, "First byte", &record.first_byte, &none);
    row(&mut text, "Connect", &record.connect, &none);
    if !record.response_of_errors.is_empty() {
        row(
            &mut text,
            "Response of 4xx, 5xx",
            &record.response_of_errors,
            &none,
        );
    }
    text.push_str(match record.plan.schedule.as_str() {
        "closed" => {
            "Response counts from the intended start; in a closed loop that is the end of the request before:\n\
             a stalled server is asked less, so take an open loop (--rate) to see what a visitor waits.\n"
        }
        _ => {
            "Response counts from the intended start, so it holds what waited behind a stall; service counts\n\
             from the first byte sent.\n"
        }
    });
    text
}

fn row(text: &mut String, name: &str, latency: &Latency, unended: &Latency) {
    if latency.is_empty() && unended.is_empty() {
        return;
    }
    let mut all = latency.clone();
    let _ = all.add(unended);
    let mark = if unended.is_empty() { "" } else { "≥ " };
    let mean = format!("{mark}{}", duration(all.mean() as u64));
    let _ = write!(text, "{name:<24}{mean:>10}{:>10}", duration(latency.min()));
    for (percentile, _) in PERCENTILES {
        let value = match latency.quantile(percentile, unended) {
            Quantile::Exactly(value) => duration(value),
            Quantile::AtLeast(value) => format!("≥ {}", duration(value)),
            Quantile::TooFew => "-".into(),
        };
        let _ = write!(text, "{value:>11}");
    }
    let _ = writeln!(text, "{:>11}", format!("{mark}{}", duration(all.max())));
}

/// Lists the delays: why requests started later than intended, and how late answers were read.
fn lags(record: &Record) -> String {
    let mut text = String::new();
    let rows = [
        ("All connections busy", &record.lag.connections_busy),
        ("Generator late", &record.lag.generator_late),
    ];
    if rows.iter().all(|(_, lag)| lag.max() <= 1) {
        text.push_str("Every request began when it was meant to.\n");
    }
    for (name, lag) in rows.into_iter().filter(|(_, lag)| lag.max() > 1) {
        let late = lag.len() - lag.count_between(0, 1);
        let _ = writeln!(
            text,
            "{name:<24}{} of {} requests, p99 {}, max {}",
            count(late),
            count(lag.len()),
            duration(lag.value_at_percentile(99.0)),
            duration(lag.max()),
        );
    }
    let read = &record.lag.read_late;
    if read.max() > 1 {
        let _ = writeln!(
            text,
            "{:<24}p50 {}, p99 {}, max {} after they came: in none of the times above",
            "Answers read late",
            duration(read.value_at_percentile(50.0)),
            duration(read.value_at_percentile(99.0)),
            duration(read.max()),
        );
    }
    text
}

fn verdict(record: &Record) -> String {
    let verdict = &record.verdict;
    let mut text = format!("Verdict: {}\n", verdict.judgement);
    for reason in &verdict.reasons {
        let _ = writeln!(
            text,
            "  {} {}: {}",
            reason.judgement, reason.check, reason.text
        );
    }
    for note in &verdict.notes {
        let _ = writeln!(text, "  note: {note}");
    }
    if verdict.judgement != Judgement::Valid {
        text.push_str("  docs/reference/bench.md says what each reason means and what to do.\n");
    }
    text
}

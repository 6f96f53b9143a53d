//! Writes the values of the plots as tables: for screen readers, for copying, and for exact values.

use super::quantile;
use crate::export::plot::escaped;
use crate::points::Point;
use crate::{figures, Latency, Quantile, Record};

const PERCENTILES: [f64; 8] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 100.0];

pub fn section(record: &Record) -> String {
    let mut html = String::from("<section class=\"tables\">\n");
    html.push_str(&table(
        "Latency",
        &["percentile", "response", "service"],
        latency_rows(record),
        true,
    ));
    html.push_str(&table(
        "Answers",
        &["outcome", "requests"],
        outcome_rows(record),
        true,
    ));
    html.push_str(&table(
        "What was late",
        &["cause", "p50", "p99", "longest"],
        lag_rows(record),
        true,
    ));
    html.push_str(&table(
        "Over time",
        &[
            "second",
            "completed/s",
            "failed/s",
            "p50",
            "p90",
            "p99",
            "longest",
        ],
        record.points().iter().map(time_row).collect(),
        false,
    ));
    html.push_str("</section>\n");
    html
}

fn latency_rows(record: &Record) -> Vec<Vec<String>> {
    PERCENTILES
        .iter()
        .map(|percentile| {
            let name = match *percentile {
                100.0 => "longest".to_owned(),
                p => format!("p{p}"),
            };
            let response = quantile(record.quantile(*percentile));
            let service = quantile(record.service.quantile(*percentile, &Latency::new()));
            vec![name, response, service]
        })
        .collect()
}

fn outcome_rows(record: &Record) -> Vec<Vec<String>> {
    let counts = &record.counts;
    let statuses = counts
        .statuses
        .iter()
        .map(|(status, count)| (format!("status {status}"), *count));
    let failed = counts
        .failed
        .iter()
        .map(|(class, count)| (format!("failed: {class}"), *count));
    statuses
        .chain(failed)
        .chain((counts.censored > 0).then(|| ("unfinished at the end".to_owned(), counts.censored)))
        .map(|(name, count)| vec![name, figures::count(count)])
        .collect()
}

fn lag_rows(record: &Record) -> Vec<Vec<String>> {
    [
        ("every connection was busy", &record.lag.connections_busy),
        ("the generator was late", &record.lag.generator_late),
        ("answers were read late", &record.lag.read_late),
    ]
    .into_iter()
    .filter(|(_, lag)| !lag.is_empty())
    .map(|(cause, lag)| {
        let at = |percentile| match lag.quantile(percentile, &Latency::new()) {
            // A delay of zero is recorded as 1, the least value of the histogram.
            Quantile::Exactly(0 | 1) => "none".to_owned(),
            lag => quantile(lag),
        };
        vec![cause.to_owned(), at(50.0), at(99.0), at(100.0)]
    })
    .collect()
}

fn time_row(point: &Point) -> Vec<String> {
    let mut row = vec![
        format!("{:.1}", point.seconds),
        figures::significant(point.completed_per_second),
        figures::significant(point.failed_per_second),
    ];
    match point.latency_ns {
        Some(values) => row.extend(values.map(figures::duration)),
        None => row.extend(["–"; 4].map(String::from)),
    }
    row
}

/// Writes a table. HTML allows cells without end tags, which keeps long tables small.
pub(super) fn table(title: &str, heads: &[&str], rows: Vec<Vec<String>>, open: bool) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let cells = |tag: &str, row: &[String]| -> String {
        row.iter()
            .map(|cell| format!("<{tag}>{}", escaped(cell)))
            .collect()
    };
    let heads: Vec<String> = heads.iter().map(|head| head.to_string()).collect();
    let rows: Vec<String> = rows
        .iter()
        .map(|row| format!("<tr>{}</tr>\n", cells("td", row)))
        .collect();
    format!(
        "<details{}>\n<summary>{title}</summary>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\"><table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table></div>\n</details>\n",
        if open { " open" } else { "" },
        cells("th scope=\"col\"", &heads),
        rows.concat(),
    )
}

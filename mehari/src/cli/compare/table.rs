//! Writes the rows of a matrix as the mod_perl guide does, with p50, p99 and an interval in
//! addition.

use mehari_record::statistics::{mean_and_deviation, t_quantile};
use mehari_record::{figures, Quantile};
use serde_json::json;

use super::matrix::Row;
use super::report;
use super::runs::Doubts;
use super::Options;

const MEASURES: [&str; 7] = [
    "avtime",
    "completed",
    "failed",
    "rps",
    "p50",
    "p99",
    "rps 95 % interval",
];

pub fn text(names: &[&str], rows: &[Row], doubts: &Doubts, options: &Options) -> String {
    let heads: Vec<String> = names
        .iter()
        .chain(&MEASURES)
        .map(|s| s.to_string())
        .collect();
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.labels.iter().cloned().chain(measures(row)).collect())
        .collect();
    let widths: Vec<usize> = (0..heads.len())
        .map(|column| {
            let cells = cells.iter().map(|row| &row[column]);
            cells
                .chain([&heads[column]])
                .map(|s| s.chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let line = |row: &[String]| {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            if column == names.len() {
                line.push_str("| ");
            }
            // As in the guide, names are aligned to the left and numbers to the right.
            if column < names.len() {
                line.push_str(&format!("{cell:<width$}  "))
            } else {
                line.push_str(&format!("{cell:>width$}  "))
            }
        }
        line.trim_end().to_owned() + "\n"
    };
    let head = line(&heads);
    let rule = "-".repeat(head.chars().count() - 1) + "\n";
    let body: String = cells.iter().map(|row| line(row)).collect();
    format!(
        "{rule}{head}{rule}{body}{rule}{}{}",
        constants(options, rows),
        report::doubts(doubts)
    )
}

/// Returns the cells of a row's results. As in the guide, times are in milliseconds.
fn measures(row: &Row) -> Vec<String> {
    let rates: Vec<f64> = row.runs.iter().map(|run| run.throughput).collect();
    let (mean, _) = mean_and_deviation(&rates);
    let ms = |ns: f64| figures::significant(ns / 1e6);
    let quantile = |percentile| match row.response.quantile(percentile, &row.unended) {
        Quantile::Exactly(ns) => ms(ns as f64),
        Quantile::AtLeast(ns) => format!("≥ {}", ms(ns as f64)),
        Quantile::TooFew => "–".into(),
    };
    vec![
        ms(row.response.mean()),
        row.completed.to_string(),
        row.failed.to_string(),
        figures::significant(mean),
        quantile(50.0),
        quantile(99.0),
        match interval(&rates) {
            Some((low, high)) => format!(
                "{}–{}",
                figures::significant(low),
                figures::significant(high)
            ),
            None => "–".into(),
        },
    ]
}

/// Returns the 95 % confidence interval of the mean rate, computed with Student's t from the
/// logarithms of the passes' rates. `None` with fewer than two passes.
fn interval(rates: &[f64]) -> Option<(f64, f64)> {
    if rates.len() < 2 || rates.iter().any(|rate| *rate <= 0.0) {
        return None;
    }
    let logarithms: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
    let (mean, deviation) = mean_and_deviation(&logarithms);
    let n = rates.len() as f64;
    let reach = t_quantile(0.975, n - 1.0) * deviation / n.sqrt();
    Some(((mean - reach).exp(), (mean + reach).exp()))
}

/// Returns the lines under the table: the parameters that are equal in all rows.
fn constants(options: &Options, rows: &[Row]) -> String {
    let load = &options.load;
    let varies = |name: &str| options.matrix.iter().any(|p| p.name == name);
    let mut lines = vec![("passes".to_owned(), options.blocks.to_string())];
    if let Some(connections) = load.connections.filter(|_| !varies("concurrency")) {
        lines.push(("concurrency".into(), connections.to_string()));
    }
    if let Some(requests) = load.requests.filter(|_| !varies("requests")) {
        lines.push(("requests a pass".into(), requests.to_string()));
    }
    if let Some(duration) = load.duration {
        lines.push((
            "seconds a pass".into(),
            figures::plain(duration.as_secs_f64()),
        ));
    }
    if let Some(rate) = load.rate.filter(|_| !varies("rate")) {
        lines.push(("rate".into(), figures::plain(rate)));
    }
    let runs: usize = rows.iter().map(|row| row.runs.len()).sum();
    lines.push(("runs".into(), runs.to_string()));
    let lines: String = lines
        .iter()
        .map(|(name, value)| format!("  {name:<16}: {value}\n"))
        .collect();
    format!("Non-varying parameters (times in ms):\n{lines}")
}

pub fn json(names: &[&str], rows: &[Row], doubts: &Doubts) -> String {
    let rows: Vec<serde_json::Value> = rows
        .iter()
        .map(|row| {
            let parameters: serde_json::Map<String, serde_json::Value> = names
                .iter()
                .zip(&row.labels)
                .map(|(name, label)| (name.to_string(), json!(label)))
                .collect();
            let rates: Vec<f64> = row.runs.iter().map(|run| run.throughput).collect();
            json!({
                "parameters": parameters,
                "avtime_ms": row.response.mean() / 1e6,
                "completed": row.completed,
                "failed": row.failed,
                "rps": mean_and_deviation(&rates).0,
                "rps_interval": interval(&rates).map(|(low, high)| [low, high]),
                "response": row.response,
                "runs": row.runs,
            })
        })
        .collect();
    let value = json!({ "rows": rows, "doubts": report::doubts(doubts).trim() });
    format!("{value:#}\n")
}

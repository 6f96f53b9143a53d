//! Exports the timeline as CSV (RFC 4180) for spreadsheets, R and pandas.

use crate::{wall_clock, Record};

const HEADER: &str = "start,seconds,completed,failed,completed_per_second,failed_per_second,bytes_per_second,p50_ms,p90_ms,p99_ms,max_ms";

/// Returns the timeline as CSV text. Latency fields are empty for buckets without a completed
/// request.
pub fn timeline(record: &Record) -> String {
    let mut text = format!("{HEADER}\r\n");
    for point in record.points() {
        let latency = match point.latency_ns {
            Some(values) => values.map(|ns| format!("{:.6}", ns as f64 / 1e6)).join(","),
            None => ",,,".to_owned(),
        };
        text.push_str(&format!(
            "{},{:.3},{},{},{:.3},{:.3},{:.3},{latency}\r\n",
            wall_clock::text(point.start_unix_us),
            point.seconds,
            point.completed,
            point.failed,
            point.completed_per_second,
            point.failed_per_second,
            point.bytes_per_second,
        ));
    }
    text
}

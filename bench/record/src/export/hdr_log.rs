//! Exports a record as an HdrHistogram log, version 1.3, in the form that HdrHistogram's Java tools
//! write. Each bucket of the timeline is an interval with a compressed V2 histogram in base64.
//! Values are in nanoseconds, but the column of the maximum is in milliseconds.

use base64::{engine::general_purpose::STANDARD, Engine};
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

use crate::{wall_clock, Latency, Record};

/// Returns the log. The intervals without a tag are the timeline. Two intervals over the whole run
/// follow, at full precision, with the tags `response` and `service`.
pub fn log(record: &Record) -> Vec<u8> {
    let start = seconds(record.started_unix_us);
    let mut text = format!(
        "#[{}]\n#[Histogram log format version 1.3]\n#[StartTime: {start:.3} (seconds since epoch), {}]\n#[BaseTime: {start:.3} (seconds since epoch)]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
        record.plan.words.replace(['\n', '\r'], " "),
        wall_clock::text(record.started_unix_us),
    );
    for bucket in &record.timeline.buckets {
        let width = record.timeline.bucket_seconds as f64;
        let from = seconds(bucket.start_unix_us) - start;
        // The first bucket may start before the run.
        let clipped = from.max(0.0);
        text.push_str(&line(
            "",
            clipped,
            width - (clipped - from),
            &bucket.response,
        ));
    }
    let length = record.durations.measured_us as f64 / 1e6;
    text.push_str(&line("Tag=response,", 0.0, length, &record.response));
    text.push_str(&line("Tag=service,", 0.0, length, &record.service));
    text.into_bytes()
}

fn line(tag: &str, from: f64, length: f64, latency: &Latency) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(latency, &mut bytes)
        .expect("writing to memory does not fail");
    format!(
        "{tag}{from:.3},{length:.3},{:.3},{}\n",
        latency.max() as f64 / 1e6,
        STANDARD.encode(bytes)
    )
}

fn seconds(unix_us: u64) -> f64 {
    unix_us as f64 / 1e6
}

//! Writes ab's two output files: percentiles as CSV (`-e`) and all requests as tab-separated values
//! (`-g`).

use super::report::milliseconds;
use super::times::Times;
use crate::console::Refusal;
use std::fmt::Write as _;
use std::path::Path;

pub fn write_csv(path: &Path, times: &Times) -> Result<(), Refusal> {
    let mut text = String::from("Percentage served,Time in ms\n");
    for percent in 0..=100 {
        let time = times.csv_percentile(percent) as f64 / 1000.0;
        let _ = writeln!(text, "{percent},{time:.3}");
    }
    write(path, &text, "CSV")
}

/// Writes the `-g` file, sorted by total time as in ab.
pub fn write_gnuplot(path: &Path, times: &Times) -> Result<(), Refusal> {
    let mut rows = times.rows().to_vec();
    rows.sort_by_key(|row| row.total);
    let mut text = String::from("starttime\tseconds\tctime\tdtime\tttime\twait\n");
    for row in rows {
        let seconds = row.started / 1_000_000;
        let _ = writeln!(
            text,
            "{}\t{seconds}\t{}\t{}\t{}\t{}",
            local_time(seconds),
            milliseconds(row.connect),
            milliseconds(row.total.saturating_sub(row.connect)),
            milliseconds(row.total),
            milliseconds(row.waiting),
        );
    }
    write(path, &text, "gnuplot")
}

fn write(path: &Path, text: &str, what: &str) -> Result<(), Refusal> {
    std::fs::write(path, text).map_err(|error| {
        let reason = crate::reason(&error);
        Refusal::to_stderr(1, format!("Cannot open {what} output file: {reason}\n"))
    })
}

/// Formats `seconds` since 1970 as a local time such as `Thu Jan 01 00:00:00 1970`.
fn local_time(seconds: u64) -> String {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let time = super::zone::broken_down(seconds as i64);
    format!(
        "{} {} {:02} {:02}:{:02}:{:02} {}",
        DAYS[time.tm_wday.clamp(0, 6) as usize],
        MONTHS[time.tm_mon.clamp(0, 11) as usize],
        time.tm_mday,
        time.tm_hour,
        time.tm_min,
        time.tm_sec,
        time.tm_year + 1900
    )
}

//! Writes the script's report. Labels are padded to 16 columns.

use super::options::Options;
use super::tally::Measured;

pub fn text(options: &Options, measured: &Measured) -> String {
    let total = u64::from(options.requests) * options.urls.len() as u64;
    let counted = if options.bug_compatible {
        total
    } else {
        measured.succeeded
    };
    let answered = if options.bug_compatible {
        total
    } else {
        measured.latencies
    };
    let ratio = |of: f64, by: f64| if by > 0.0 { of / by } else { 0.0 };
    let rows = [
        ("URL(s):", options.urls.join("\n\t\t ")),
        ("Total Requests:", total.to_string()),
        ("Parallel Agents:", options.agents.to_string()),
        (
            "Succeeded:",
            format!(
                "{} ({:.2}%)",
                measured.succeeded,
                100.0 * ratio(measured.succeeded as f64, total as f64)
            ),
        ),
        ("Errors:", errors(measured)),
        ("Total Time:", format!("{:.2} secs", measured.elapsed)),
        (
            "Throughput:",
            format!(
                "{:.2} Requests/sec",
                ratio(counted as f64, measured.elapsed)
            ),
        ),
        (
            "Latency:",
            format!(
                "{:.2} secs/Request",
                ratio(measured.latency_sum, answered as f64)
            ),
        ),
    ];
    rows.iter()
        .map(|(label, value)| format!("{label:<16} {value}\n"))
        .collect()
}

fn errors(measured: &Measured) -> String {
    if measured.errors.is_empty() {
        return "NONE".into();
    }
    let told: Vec<String> = measured
        .errors
        .iter()
        .map(|(message, count)| format!("{message} ({count})"))
        .collect();
    told.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn options(words: &[&str]) -> Options {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        Options::parse(&words).expect("the words are right")
    }

    #[test]
    fn the_report_of_the_guides_sample_equals_the_guides_text() {
        let measured = Measured {
            succeeded: 100,
            elapsed: 9.39,
            latency_sum: 85.0,
            latencies: 100,
            ..Measured::default()
        };
        assert_eq!(
            text(
                &options(&["http://www.example.com/perl/access/access.cgi"]),
                &measured
            ),
            "URL(s):          http://www.example.com/perl/access/access.cgi\n\
             Total Requests:  100\n\
             Parallel Agents: 10\n\
             Succeeded:       100 (100.00%)\n\
             Errors:          NONE\n\
             Total Time:      9.39 secs\n\
             Throughput:      10.65 Requests/sec\n\
             Latency:         0.85 secs/Request\n"
        );
    }

    #[test]
    fn failures_do_not_count_as_throughput_unless_bug_compatible() {
        let measured = Measured {
            succeeded: 50,
            elapsed: 10.0,
            latency_sum: 25.0,
            latencies: 50,
            errors: [("TIMEOUT".to_string(), 50)].into(),
        };
        let right = text(&options(&["http://h/"]), &measured);
        assert!(right.contains("Errors:          TIMEOUT (50)\n"));
        assert!(right.contains("Throughput:      5.00 Requests/sec\nLatency:         0.50 "));
        let old = text(&options(&["--bug-compatible", "http://h/"]), &measured);
        assert!(old.contains("Throughput:      10.00 Requests/sec\nLatency:         0.25 "));
    }
}

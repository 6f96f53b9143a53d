//! Writes the report in plain text, with ab's labels, order, widths and units.

use super::measured::Measured;
use super::options::Options;
use super::times::{Summary, Time};
use std::io::Write;

/// Returns the whole report, starting with its two blank lines.
pub fn text(options: &Options, measured: &Measured) -> Vec<u8> {
    let mut page = Page(b"\n\n".to_vec());
    server(&mut page, options, measured);
    page.line("");
    document(&mut page, options, measured);
    page.line("");
    counts(&mut page, options, measured);
    rates(&mut page, options, measured);
    if measured.times.count() > 0 {
        connection_times(&mut page, options, measured);
    }
    if options.percentiles && measured.times.count() > 1 {
        percentiles(&mut page, measured);
    }
    page.0
}

struct Page(Vec<u8>);

impl Page {
    fn line(&mut self, text: &str) {
        self.0.extend([text.as_bytes(), b"\n"].concat());
    }

    /// Adds a row: a label, padded to 24 columns, and a value.
    fn row(&mut self, label: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "{label:<24}{value}");
    }

    /// Adds a row with a value from the server. The value need not be UTF-8.
    fn raw_row(&mut self, label: &str, value: &[u8]) {
        let _ = write!(self.0, "{label:<24}");
        self.0.extend([value, b"\n"].concat());
    }
}

fn server(page: &mut Page, options: &Options, measured: &Measured) {
    page.raw_row("Server Software:", &measured.server_software);
    page.row("Server Hostname:", &options.target.host);
    page.row("Server Port:", options.target.port);
    if let Some(tls) = &measured.tls {
        page.row("SSL/TLS Protocol:", &tls.protocol);
        if let Some(key) = &tls.temporary_key {
            page.row("Server Temp Key:", key);
        }
    }
    if let Some(name) = &measured.tls_server_name {
        page.row("TLS Server Name:", name);
    }
}

fn document(page: &mut Page, options: &Options, measured: &Measured) {
    page.raw_row("Document Path:", &options.target.path);
    if options.variable_length {
        page.row("Document Length:", "Variable")
    } else {
        page.row(
            "Document Length:",
            format_args!("{} bytes", measured.document_length),
        )
    }
}

fn counts(page: &mut Page, options: &Options, measured: &Measured) {
    page.row("Concurrency Level:", options.concurrency);
    page.row(
        "Time taken for tests:",
        format_args!("{:.3} seconds", measured.elapsed),
    );
    page.row("Complete requests:", measured.complete);
    let failures = &measured.failures;
    page.row("Failed requests:", failures.total);
    if failures.total > 0 {
        page.line(&format!(
            "   (Connect: {}, Receive: {}, Length: {}, Exceptions: {})",
            failures.connect, failures.receive, failures.length, failures.exceptions
        ));
    }
    if measured.write_errors > 0 {
        page.row("Write errors:", measured.write_errors);
    }
    if measured.non_2xx > 0 {
        page.row("Non-2xx responses:", measured.non_2xx);
    }
    if options.keep_alive {
        page.row("Keep-Alive requests:", measured.kept_alive);
    }
    page.row(
        "Total transferred:",
        format_args!("{} bytes", measured.bytes_read),
    );
    if options.body.is_some() {
        page.row("Total body sent:", measured.bytes_written);
    }
    page.row(
        "HTML transferred:",
        format_args!("{} bytes", measured.body_bytes_read),
    );
}

fn rates(page: &mut Page, options: &Options, measured: &Measured) {
    if !measured.has_rates() {
        return;
    }
    let each = measured.elapsed * 1000.0 / measured.complete as f64;
    let of_one_client = each * f64::from(options.concurrency);
    page.row(
        "Requests per second:",
        format_args!("{:.2} [#/sec] (mean)", measured.per_second()),
    );
    page.row(
        "Time per request:",
        format_args!("{of_one_client:.3} [ms] (mean)"),
    );
    page.row(
        "Time per request:",
        format_args!("{each:.3} [ms] (mean, across all concurrent requests)"),
    );
    let (read, written) = (measured.bytes_read, measured.bytes_written);
    let rate = |bytes| measured.kilobytes_per_second(bytes);
    page.row(
        "Transfer rate:",
        format_args!("{:.2} [Kbytes/sec] received", rate(read)),
    );
    if options.body.is_some() {
        page.row("", format_args!("{:.2} kb/s sent", rate(written)));
        page.row("", format_args!("{:.2} kb/s total", rate(read + written)));
    }
}

fn connection_times(page: &mut Page, options: &Options, measured: &Measured) {
    page.line("\nConnection Times (ms)");
    page.line(if options.confidence {
        "              min  mean[+/-sd] median   max"
    } else {
        "              min   avg   max"
    });
    for time in Time::ALL {
        let shown = Shown::of(&measured.times.summary(time));
        let label = time.label();
        let Shown {
            min,
            mean,
            deviation,
            median,
            max,
        } = shown;
        page.line(&if options.confidence {
            format!("{label:<12}{min:5} {mean:4} {deviation:5.1} {median:6} {max:7}")
        } else {
            format!("{label:<12}{min:5} {mean:5}{max:5}")
        });
    }
    if options.confidence {
        for time in Time::ALL {
            doubt(page, options, time, &measured.times.summary(time));
        }
    }
}

/// A summary rounded to whole milliseconds, as ab prints it.
struct Shown {
    min: u64,
    mean: u64,
    deviation: f64,
    median: u64,
    max: u64,
}

impl Shown {
    fn of(summary: &Summary) -> Shown {
        Shown {
            min: milliseconds(summary.min),
            mean: milliseconds(summary.mean as u64),
            deviation: summary.deviation / 1000.0,
            median: milliseconds(summary.median),
            max: milliseconds(summary.max),
        }
    }
}

/// Rounds microseconds to whole milliseconds as ab does.
pub fn milliseconds(microseconds: u64) -> u64 {
    (microseconds + 500) / 1000
}

/// Prints ab's two warnings about a mean that is far from the median. ab compares whole
/// milliseconds, so on a fast server rounding alone causes its warnings. Mehari compares the exact
/// times unless `--bug-compatible` is given.
fn doubt(page: &mut Page, options: &Options, time: Time, summary: &Summary) {
    let (mean, median) = if options.bug_compatible {
        let shown = Shown::of(summary);
        (shown.mean as f64, shown.median as f64)
    } else {
        (summary.mean / 1000.0, summary.median as f64 / 1000.0)
    };
    let (apart, deviation) = ((mean - median).abs(), summary.deviation / 1000.0);
    let what = time.in_words();
    if apart > 2.0 * deviation {
        page.line(&format!(
            "ERROR: The median and mean for {what} are more than twice the standard\n       \
             deviation apart. These results are NOT reliable."
        ));
    } else if apart > deviation {
        page.line(&format!(
            "WARNING: The median and mean for {what} are not within a normal deviation\n        \
             These results are probably not that reliable."
        ));
    }
}

fn percentiles(page: &mut Page, measured: &Measured) {
    page.line("\nPercentage of the requests served within a certain time (ms)");
    for percent in [50, 66, 75, 80, 90, 95, 98, 99] {
        let time = milliseconds(measured.times.percentile(percent));
        page.line(&format!("  {percent}%  {time:5}"));
    }
    let longest = milliseconds(measured.times.percentile(100));
    page.line(&format!(" 100%  {longest:5} (longest request)"));
}

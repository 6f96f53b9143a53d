//! Writes the report of httperf, with httperf's labels, order, digits and blank lines.

use super::measured::{Measured, Series, Sessions};
use super::options::Options;
use std::fmt::Write;

/// Returns the whole report. If the run took no time, the rates are 0.
pub fn text(options: &Options, measured: &Measured) -> String {
    let mut page = format!(
        "Maximum connect burst length: {}\n",
        measured.longest_connect_burst
    );
    if options.verbose > 1 {
        lifetime_histogram(&mut page, measured);
    }
    let wrote = totals(&mut page, measured)
        .and_then(|()| connections(&mut page, options, measured))
        .and_then(|()| requests(&mut page, options, measured))
        .and_then(|()| replies(&mut page, options, measured))
        .and_then(|()| resources(&mut page, measured))
        .and_then(|()| errors(&mut page, measured))
        .and_then(|()| match &measured.sessions {
            Some(found) => sessions(&mut page, measured, found),
            None => Ok(()),
        });
    debug_assert!(wrote.is_ok(), "writing to a string does not fail");
    page
}

fn ratio(of: f64, by: f64) -> f64 {
    if by > 0.0 {
        of / by
    } else {
        0.0
    }
}

/// Returns the mean size in bytes. Unlike Mehari, httperf drops the fraction.
fn mean_size(options: &Options, bytes: u64, count: u64) -> f64 {
    match (count, options.bug_compatible) {
        (0, _) => 0.0,
        (_, true) => (bytes / count) as f64,
        (_, false) => bytes as f64 / count as f64,
    }
}

fn lifetime_histogram(page: &mut String, measured: &Measured) {
    page.push_str("\nConnection lifetime histogram (time in ms):\n");
    let mut next = 0;
    for (bin, count) in &measured.lifetimes.bins {
        if *bin > next {
            let _ = writeln!(page, "{:>14}", ':');
        }
        let _ = writeln!(page, "{:16.1} {count}", *bin as f64 + 0.5);
        next = bin + 1;
    }
}

fn totals(page: &mut String, measured: &Measured) -> std::fmt::Result {
    writeln!(
        page,
        "\nTotal: connections {} requests {} replies {} test-duration {:.3} s\n",
        measured.connections,
        measured.requests,
        measured.all_replies(),
        measured.duration
    )
}

fn connections(page: &mut String, options: &Options, measured: &Measured) -> std::fmt::Result {
    let (count, duration) = (measured.connections as f64, measured.duration);
    writeln!(
        page,
        "Connection rate: {:.1} conn/s ({:.1} ms/conn, <={} concurrent connections)",
        ratio(count, duration),
        1e3 * ratio(duration, count),
        measured.most_connections
    )?;
    let lifetimes = &measured.lifetimes;
    let Series { min, mean, max, .. } = lifetimes.series;
    let median = if options.bug_compatible {
        lifetimes.binned_median()
    } else {
        lifetimes.median()
    };
    writeln!(
        page,
        "Connection time [ms]: min {:.1} avg {:.1} max {:.1} median {:.1} stddev {:.1}",
        1e3 * min,
        1e3 * mean,
        1e3 * max,
        1e3 * median,
        1e3 * lifetimes.series.deviation()
    )?;
    writeln!(
        page,
        "Connection time [ms]: connect {:.1}",
        1e3 * measured.connects.mean
    )?;
    let length = ratio(measured.all_replies() as f64, lifetimes.series.count as f64);
    writeln!(page, "Connection length [replies/conn]: {length:.3}\n")
}

fn requests(page: &mut String, options: &Options, measured: &Measured) -> std::fmt::Result {
    let (count, duration) = (measured.requests as f64, measured.duration);
    writeln!(
        page,
        "Request rate: {:.1} req/s ({:.1} ms/req)",
        ratio(count, duration),
        1e3 * ratio(duration, count)
    )?;
    let size = mean_size(options, measured.bytes_sent, measured.requests);
    writeln!(page, "Request size [B]: {size:.1}\n")
}

fn replies(page: &mut String, options: &Options, measured: &Measured) -> std::fmt::Result {
    let rates = &measured.reply_rates;
    writeln!(
        page,
        "Reply rate [replies/s]: min {:.1} avg {:.1} max {:.1} stddev {:.1} ({} samples)",
        rates.min,
        rates.mean,
        rates.max,
        rates.deviation(),
        rates.count
    )?;
    writeln!(
        page,
        "Reply time [ms]: response {:.1} transfer {:.1}",
        1e3 * measured.responses.mean,
        1e3 * measured.transfers.mean
    )?;
    let count = measured.all_replies();
    let [head, content, footer] = [
        measured.head_bytes,
        measured.content_bytes,
        measured.footer_bytes,
    ]
    .map(|bytes| mean_size(options, bytes, count));
    writeln!(
        page,
        "Reply size [B]: header {head:.1} content {content:.1} footer {footer:.1} (total {:.1})",
        head + content + footer
    )?;
    let [_, first, second, third, fourth, fifth] = measured.replies;
    writeln!(
        page,
        "Reply status: 1xx={first} 2xx={second} 3xx={third} 4xx={fourth} 5xx={fifth}\n"
    )
}

fn resources(page: &mut String, measured: &Measured) -> std::fmt::Result {
    let (user, system) = (measured.user_seconds, measured.system_seconds);
    let share = |seconds| 100.0 * ratio(seconds, measured.duration);
    writeln!(
        page,
        "CPU time [s]: user {user:.2} system {system:.2} (user {:.1}% system {:.1}% total {:.1}%)",
        share(user),
        share(system),
        share(user + system)
    )?;
    let bytes = (measured.bytes_sent + measured.head_bytes + measured.content_bytes) as f64;
    writeln!(
        page,
        "Net I/O: {:.1} KB/s ({:.1}*10^6 bps)\n",
        ratio(bytes, measured.duration) / 1024.0,
        8e-6 * ratio(bytes, measured.duration)
    )
}

fn errors(page: &mut String, measured: &Measured) -> std::fmt::Result {
    let errors = &measured.errors;
    writeln!(
        page,
        "Errors: total {} client-timo {} socket-timo {} connrefused {} connreset {}",
        errors.total(),
        errors.client_timeouts,
        errors.socket_timeouts,
        errors.refused,
        errors.reset
    )?;
    writeln!(
        page,
        "Errors: fd-unavail {} addrunavail {} ftab-full {} other {}",
        errors.no_descriptor, errors.no_address, errors.table_full, errors.other
    )
}

fn sessions(page: &mut String, measured: &Measured, sessions: &Sessions) -> std::fmt::Result {
    let (complete, total) = (sessions.lifetimes.count, sessions.total());
    let rates = &sessions.rates;
    writeln!(
        page,
        "\nSession rate [sess/s]: min {:.2} avg {:.2} max {:.2} stddev {:.2} ({complete}/{total})",
        rates.min,
        ratio(complete as f64, measured.duration),
        rates.max,
        rates.deviation()
    )?;
    writeln!(
        page,
        "Session: avg {:.2} connections/session",
        ratio(sessions.connections as f64, total as f64)
    )?;
    writeln!(page, "Session lifetime [s]: {:.1}", sessions.lifetimes.mean)?;
    writeln!(page, "Session failtime [s]: {:.1}", sessions.failtimes.mean)?;
    page.push_str("Session length histogram:");
    let lengths: &[u64] = if sessions.lengths.is_empty() {
        &[0]
    } else {
        &sessions.lengths
    };
    for count in lengths {
        write!(page, " {count}")?;
    }
    page.push('\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn options(line: &str) -> Options {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        Options::parse(&words).unwrap_or_else(|refusal| panic!("{line}: {refusal:?}"))
    }

    fn measured(with_sessions: bool) -> Measured {
        let mut measured = Measured::new(with_sessions);
        measured.longest_connect_burst = 2;
        measured.connections = 4;
        measured.requests = 4;
        measured.replies = [0, 0, 2, 0, 1, 0];
        measured.duration = 2.0;
        measured.most_connections = 3;
        for seconds in [0.001, 0.0021, 0.0022] {
            measured.lifetimes.add(seconds);
            measured.responses.add(seconds);
            measured.transfers.add(0.0);
        }
        measured.connects.add(0.0003);
        measured.reply_rates.add(100.0);
        measured.reply_rates.add(200.0);
        measured.bytes_sent = 250;
        measured.head_bytes = 667;
        measured.content_bytes = 3072;
        measured.footer_bytes = 4;
        measured.user_seconds = 0.5;
        measured.system_seconds = 1.0;
        measured.errors.client_timeouts = 1;
        measured
    }

    const OLD: &str = "\
Maximum connect burst length: 2

Total: connections 4 requests 4 replies 3 test-duration 2.000 s

Connection rate: 2.0 conn/s (500.0 ms/conn, <=3 concurrent connections)
Connection time [ms]: min 1.0 avg 1.8 max 2.2 median 2.5 stddev 0.7
Connection time [ms]: connect 0.3
Connection length [replies/conn]: 1.000

Request rate: 2.0 req/s (500.0 ms/req)
Request size [B]: 62.0

Reply rate [replies/s]: min 100.0 avg 150.0 max 200.0 stddev 70.7 (2 samples)
Reply time [ms]: response 1.8 transfer 0.0
Reply size [B]: header 222.0 content 1024.0 footer 1.0 (total 1247.0)
Reply status: 1xx=0 2xx=2 3xx=0 4xx=1 5xx=0

CPU time [s]: user 0.50 system 1.00 (user 25.0% system 50.0% total 75.0%)
Net I/O: 1.9 KB/s (0.0*10^6 bps)

Errors: total 1 client-timo 1 socket-timo 0 connrefused 0 connreset 0
Errors: fd-unavail 0 addrunavail 0 ftab-full 0 other 0
";

    #[test]
    fn the_report_equals_httperfs() {
        let old = options("--bug-compatible --num-conns 4");
        assert_eq!(text(&old, &measured(false)), OLD);
    }

    #[test]
    fn without_bug_compatible_sizes_and_the_median_are_exact() {
        let right = OLD
            .replace("median 2.5", "median 2.1")
            .replace("Request size [B]: 62.0", "Request size [B]: 62.5")
            .replace("header 222.0", "header 222.3")
            .replace("footer 1.0 (total 1247.0)", "footer 1.3 (total 1247.7)");
        assert_eq!(text(&options("--num-conns 4"), &measured(false)), right);
    }

    #[test]
    fn sessions_add_lines_to_the_report() {
        let mut measured = measured(true);
        if let Some(sessions) = &mut measured.sessions {
            sessions.lifetimes.add(0.2);
            sessions.failtimes.add(1.0);
            sessions.connections = 3;
            sessions.lengths = vec![1, 0, 1];
        }
        let text = text(&options("--wsess 2,2,0"), &measured);
        let lines = "
Session rate [sess/s]: min 0.00 avg 0.50 max 0.00 stddev 0.00 (1/2)
Session: avg 1.50 connections/session
Session lifetime [s]: 0.2
Session failtime [s]: 1.0
Session length histogram: 1 0 1
";
        assert!(text.ends_with(lines), "{text}");
    }

    #[test]
    fn gaps_of_the_lifetime_histogram_are_marked() {
        let text = text(&options("-vv"), &measured(false));
        let rows = "
Connection lifetime histogram (time in ms):
             :
             1.5 1
             2.5 2
";
        assert!(text.contains(rows), "{text}");
    }
}

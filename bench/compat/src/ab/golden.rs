//! Compares whole reports with expected texts. The expected figures were computed by hand: once
//! with ab's formulas and once with the correct formulas.

use super::measured::Measured;
use super::options::Options;
use super::times::{Arithmetic, Row, Times};
use super::{html, report};
use std::ffi::OsString;

fn options(line: &str) -> Options {
    let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    Options::parse(&words).unwrap_or_else(|refusal| panic!("{line}: {refusal:?}"))
}

/// Returns the results of a run with these requests. Each request is its connect, total and waiting
/// time in microseconds.
fn measured(arithmetic: Arithmetic, requests: &[(u64, u64, u64)]) -> Measured {
    let mut times = Times::new(arithmetic, false);
    for &(connect, total, waiting) in requests {
        times.add(Row {
            started: 0,
            connect,
            total,
            waiting,
        });
    }
    let count = requests.len() as u64;
    Measured {
        server_software: b"Known/1.0".to_vec(),
        document_length: 319,
        elapsed: 0.0166,
        complete: count,
        bytes_read: 391 * count,
        body_bytes_read: 319 * count,
        ..Measured::new(times)
    }
}

const THREE: &[(u64, u64, u64)] = &[(400, 2400, 1000), (600, 4600, 2000), (1600, 9600, 4000)];

const HEAD_OF_THREE: &str = "

Server Software:        Known/1.0
Server Hostname:        h
Server Port:            80

Document Path:          /x
Document Length:        319 bytes

Concurrency Level:      1
Time taken for tests:   0.017 seconds
Complete requests:      3
Failed requests:        0
Total transferred:      1173 bytes
HTML transferred:       957 bytes
Requests per second:    180.72 [#/sec] (mean)
Time per request:       5.533 [ms] (mean)
Time per request:       5.533 [ms] (mean, across all concurrent requests)
Transfer rate:          69.01 [Kbytes/sec] received

Connection Times (ms)
              min  mean[+/-sd] median   max
";

const TAIL_OF_THREE: &str = "
Percentage of the requests served within a certain time (ms)
  50%      5
  66%      5
  75%     10
  80%     10
  90%     10
  95%     10
  98%     10
  99%     10
 100%     10 (longest request)
";

fn text(options: &Options, measured: &Measured) -> String {
    String::from_utf8(report::text(options, measured)).expect("the report is ASCII text")
}

#[test]
fn the_report_of_three_requests_in_abs_arithmetic() {
    let rows = "\
Connect:        0    1   0.6      1       2
Processing:     2    5   3.1      6       8
Waiting:        1    2   1.5      3       4
Total:          2    6   3.7      7      10
";
    assert_eq!(
        text(&options("-n 3 h/x"), &measured(Arithmetic::AsAb, THREE)),
        format!("{HEAD_OF_THREE}{rows}{TAIL_OF_THREE}")
    );
}

#[test]
fn the_report_of_three_requests_in_correct_arithmetic() {
    let rows = "\
Connect:        0    1   0.6      1       2
Processing:     2    5   3.1      4       8
Waiting:        1    2   1.5      2       4
Total:          2    6   3.7      5      10
";
    assert_eq!(
        text(&options("-n 3 h/x"), &measured(Arithmetic::Right, THREE)),
        format!("{HEAD_OF_THREE}{rows}{TAIL_OF_THREE}")
    );
}

#[test]
fn reports_of_one_request_lack_percentiles_and_reports_of_none_lack_times() {
    let one = text(&options("h/x"), &measured(Arithmetic::Right, &THREE[..1]));
    assert!(
        one.ends_with("Total:          2    2   0.0      2       2\n"),
        "{one}"
    );
    let none = text(&options("h/x"), &measured(Arithmetic::Right, &[]));
    assert!(
        none.ends_with("HTML transferred:       0 bytes\n"),
        "{none}"
    );
}

#[test]
fn option_s_shortens_the_table_and_failures_add_their_lines() {
    let mut measured = measured(Arithmetic::Right, THREE);
    measured.failures.length = 2;
    measured.failures.total = 2;
    measured.non_2xx = 1;
    measured.write_errors = 1;
    measured.kept_alive = 3;
    let text = text(&options("-S -d -k -l -n 3 h/x"), &measured);
    let counts = "\
Document Length:        Variable

Concurrency Level:      1
Time taken for tests:   0.017 seconds
Complete requests:      3
Failed requests:        2
   (Connect: 0, Receive: 0, Length: 2, Exceptions: 0)
Write errors:           1
Non-2xx responses:      1
Keep-Alive requests:    3
";
    assert!(text.contains(counts), "{text}");
    let table = "
Connection Times (ms)
              min   avg   max
Connect:        0     1    2
Processing:     2     5    8
Waiting:        1     2    4
Total:          2     6   10
";
    assert!(text.ends_with(table), "{text}");
}

/// ab rounds to whole milliseconds: a mean of 510 microseconds becomes 1 ms, and a median of 490
/// becomes 0 ms. ab therefore warns that mean and median differ.
#[test]
fn only_abs_rounding_causes_the_warning_about_mean_and_median() {
    let mut requests = vec![(0, 490, 0); 9];
    requests.push((0, 690, 0));
    let old = text(
        &options("--bug-compatible -n 10 h/x"),
        &measured(Arithmetic::AsAb, &requests),
    );
    let doubts = "\
ERROR: The median and mean for the processing time are more than twice the standard
       deviation apart. These results are NOT reliable.
ERROR: The median and mean for the total time are more than twice the standard
       deviation apart. These results are NOT reliable.
";
    assert!(old.contains(doubts), "{old}");
    let right = text(
        &options("-n 10 h/x"),
        &measured(Arithmetic::Right, &requests),
    );
    assert!(!right.contains("reliable"), "{right}");
}

#[test]
fn the_html_table_of_three_requests() {
    let options = options("-w -n 3 h/x");
    let attributes = options.html.clone().expect("-w was given");
    let page = html::html(&options, &attributes, &measured(Arithmetic::Right, THREE));
    let page = String::from_utf8(page).expect("the page is ASCII text");
    assert!(page.starts_with("\n\n<table >\n<tr ><th colspan=2 bgcolor=white>Server Software:</th><td colspan=2 bgcolor=white>Known/1.0</td></tr>\n"), "{page}");
    assert!(page.ends_with(
        "<tr ><th bgcolor=white>Processing:</th><td bgcolor=white>    2</td><td bgcolor=white>    5</td><td bgcolor=white>    8</td></tr>\n\
         <tr ><th bgcolor=white>Total:</th><td bgcolor=white>    2</td><td bgcolor=white>    6</td><td bgcolor=white>   10</td></tr>\n</table>\n"
    ), "{page}");
}

/// The requests take 1 ms, 2 ms and so on. A row holds the number of requests, then ab's and the
/// correct median in microseconds, then ab's and the correct rank of the 99th percentile.
#[test]
fn ab_and_correct_arithmetic_differ_in_medians_and_ranks() {
    let rows = [
        (1, 1_000, 1_000, 1, 1),
        (2, 2_000, 1_000, 2, 2),
        (3, 2_500, 2_000, 3, 3),
        (50, 26_000, 25_000, 50, 50),
        (51, 26_500, 26_000, 51, 51),
        (100, 51_000, 50_000, 100, 99),
    ];
    for (count, old_median, median, old_99, right_99) in rows {
        let requests: Vec<(u64, u64, u64)> = (1..=count).map(|at| (0, at * 1000, 0)).collect();
        for (arithmetic, median, of_99) in [
            (Arithmetic::AsAb, old_median, old_99),
            (Arithmetic::Right, median, right_99),
        ] {
            let times = measured(arithmetic, &requests).times;
            let found = times.summary(super::times::Time::Total).median;
            assert!(found.abs_diff(median) <= median / 1000, "{count}: {found}");
            let found = times.percentile(99);
            let wanted = of_99 * 1000;
            assert!(found.abs_diff(wanted) <= wanted / 1000, "{count}: {found}");
        }
    }
}

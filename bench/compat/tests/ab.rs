//! Compares `mehari ab` with Debian's ab: the printed lines and their order, the streams, the exit
//! status and the sent bytes must be equal.
#![allow(clippy::unwrap_used)]

mod stand;

use stand::line::Places;
use stand::pair::Pair;
use stand::server::Server;
use std::path::Path;

const SETS: &[&str] = &[
    // The number of requests, and how they are sent.
    "-n 3 {url}/fixed",
    "-n 10 -c 3 {url}/fixed",
    "-kc 4 -n 40 {url}/fixed",
    "-k -n 5 {url}/close",
    "-n 5 {url}/close",
    "-i -n 3 {url}/fixed",
    "-i -k -n 3 {url}/fixed",
    "-m OPTIONS -n 2 {url}/fixed",
    "-m PUT -p {body} -n 2 {url}/fixed",
    "-n 2 {url}/bare",
    "-n 2 {address}/fixed",
    "-l -n 5 {url}/variable",
    "-n 5 {url}/variable",
    "-n 3 {url}/503",
    "-n 3 -c 2 {url}/302",
    "-k -n 4 {url}/404",
    // Bodies.
    "-p {body} -T application/x-www-form-urlencoded -n 3 {url}/fixed",
    "-u {body} -n 3 {url}/fixed",
    "-k -p {body} -n 3 -c 2 {url}/fixed",
    "-p {missing} {url}/fixed",
    // Headers.
    "-n 2 -H 'X-One: 1' -H 'Accept-Encoding: gzip' {url}/fixed",
    "-n 2 -H 'Host: elsewhere' -H 'User-Agent: me' -H 'accept: text/html' {url}/fixed",
    "-n 2 -C a=1 -A user:secret -P proxy:secret {url}/fixed",
    "-n 2 -X {address} http://elsewhere.test/fixed",
    "-n 2 -X {address} http://elsewhere.test:8080/fixed",
    // Output.
    "-d -n 4 {url}/fixed",
    "-S -n 4 {url}/fixed",
    "-S -d -q -n 200 {url}/fixed",
    "-n 200 {url}/fixed",
    "-n 1000 -k -c 5 {url}/fixed",
    "-w -n 4 {url}/fixed",
    "-w -k -n 4 {url}/404",
    "-w -n 200 {url}/fixed",
    "-x border=1 -y align=left -z bgcolor=red -n 2 -p {body} {url}/fixed",
    "-w -l -n 3 {url}/variable",
    "-v 2 -n 2 {url}/fixed",
    "-v 3 -n 2 {url}/fixed",
    "-v 3 -n 2 {url}/503",
    "-v 4 -k -n 2 -p {body} {url}/lines",
    "-V",
    "-h",
    // Files.
    "-n 5 -e {csv} {url}/fixed",
    "-n 5 -g {gnuplot} {url}/fixed",
    "-n 5 -e {missing} {url}/fixed",
    "-n 5 -g {missing} {url}/fixed",
    // Limits.
    "-t 1 -c 2 {url}/slow",
    "-t 1 -n 3 {url}/fixed",
    "-n 3 -b 4096 {url}/fixed",
    "-n 3 -s 5 {url}/slow",
    "-n 3 -B 127.0.0.1 {url}/fixed",
    // Errors on the wire.
    "{refused}/fixed",
    "-n 5 -c 2 {refused}/fixed",
    "-r -n 5 {refused}/fixed",
    "-n 3 {url}/reset",
    "-r -n 3 {url}/reset",
    "-r -v 1 -n 3 -c 2 {url}/reset",
    "-w -r -n 3 {url}/reset",
    "-n 3 {url}/broken",
    "-r -n 3 {url}/broken",
    "-r -k -n 3 -c 2 {url}/broken",
    "-s 1 {url}/hang",
    "-s 1 -n 4 -c 2 {url}/hang",
    "http://nosuch.invalid/",
    "-X nosuch.invalid:80 http://elsewhere.test/",
    "-B 192.0.2.1 {url}/fixed",
    "-B nosuch.invalid {url}/fixed",
    // Misuse.
    "",
    "{url}/fixed {url}/fixed",
    "-n",
    "-n 0 {url}/fixed",
    "-n -3 {url}/fixed",
    "-n x {url}/fixed",
    "-c 0 {url}/fixed",
    "-c 5 {url}/fixed",
    "-c -1 {url}/fixed",
    "-c 200001 -n 300000 {url}/fixed",
    "-Q {url}/fixed",
    "-Qk {url}/fixed",
    "-kQ {url}/fixed",
    "-i -p {body} {url}/fixed",
    "-p {body} -i {url}/fixed",
    "-u {body} -p {body} {url}/fixed",
    "http://127.0.0.1",
    "http:///fixed",
    "http://127.0.0.1:0/",
    "http://127.0.0.1:99999/",
    "ftp://127.0.0.1/",
    "-v {url}/fixed",
    "-- {url}/fixed",
];

const TLS_SETS: &[&str] = &[
    "-n 3 {tls}/fixed",
    "-k -n 5 -c 2 {tls}/fixed",
    "-n 2 -I {tls}/fixed",
    "-n 2 -f TLS1.2 {tls}/fixed",
    "-n 2 -f TLS1.3 {tls}/fixed",
    "-n 2 -f ALL -p {body} {tls}/fixed",
    "-n 2 https://127.0.0.1:{tls_port}/503",
    "-w -n 2 {tls}/fixed",
    "-n 2 -H 'Host: elsewhere.test' {tls}/fixed",
];

fn places(server: &Server, folder: &Path) -> Places<'static> {
    let file = |name: &str| folder.join(name).display().to_string();
    std::fs::write(folder.join("body"), "a=1&b=2").unwrap();
    Places {
        known: vec![
            ("url", format!("http://127.0.0.1:{}", server.port)),
            ("address", format!("127.0.0.1:{}", server.port)),
            (
                "refused",
                format!("http://127.0.0.1:{}", server.refused_port),
            ),
            ("tls", format!("https://localhost:{}", server.tls_port)),
            ("tls_port", server.tls_port.to_string()),
            ("body", file("body")),
            ("csv", file("csv")),
            ("gnuplot", file("gnuplot")),
            ("missing", file("no/such/file")),
        ],
    }
}

fn ab() -> Pair {
    Pair::new("ab", places)
}

#[test]
fn ab_prints_and_sends_the_same_as_the_original() {
    let lines: Vec<&str> = SETS.iter().chain(TLS_SETS).copied().collect();
    ab().compare(&lines);
}

#[test]
fn ab_runs_through_a_link_of_its_name_and_as_a_subcommand() {
    let named = ab().answers_to_its_name("{url}/fixed");
    assert!(named.contains("Complete requests:      1\n"), "{named}");
}

#[test]
fn ab_writes_the_same_files_as_the_original() {
    let (ab, line) = (ab(), "-n 7 -e {csv} -g {gnuplot} {url}/fixed");
    ab.ours(line);
    let ours = (ab.read("csv"), ab.read("gnuplot"));
    assert_eq!(ours.0.lines().count(), 102);
    assert_eq!(ours.1.lines().count(), 8);
    if ab.theirs(line).is_none() {
        return;
    }
    let shape = |text: &str| {
        let days: String = text.chars().filter(|c| !c.is_alphabetic()).collect();
        stand::shape::of(&days)
    };
    assert_eq!(shape(&ours.0), shape(&ab.read("csv")));
    assert_eq!(shape(&ours.1), shape(&ab.read("gnuplot")));
}

#[test]
fn a_body_shorter_than_announced_fails_unless_bug_compatible() {
    let ab = ab();
    let right = ab.ours("-n 3 {url}/short").out_text();
    let failures =
        "Failed requests:        3\n   (Connect: 0, Receive: 0, Length: 3, Exceptions: 0)\n";
    assert!(right.contains(failures), "{right}");
    ab.compare_counts("--bug-compatible", &["-n 3 {url}/short"], counts);
}

#[test]
fn a_connection_closed_without_an_answer_fails_unless_bug_compatible() {
    let ab = ab();
    let right = ab.ours("-n 3 {url}/empty").out_text();
    assert!(right.contains("Failed requests:        3\n"), "{right}");
    assert!(right.contains("(Connect: 0, Receive: 3, Length: 0, Exceptions: 0)"));
    let old = ab.ours("--bug-compatible -n 3 {url}/empty").out_text();
    assert!(old.contains("Failed requests:        0\n"), "{old}");
}

fn counts(report: &str) -> Vec<String> {
    const LABELS: [&str; 9] = [
        "Document Length:",
        "Concurrency Level:",
        "Complete requests:",
        "Failed requests:",
        "Non-2xx responses:",
        "Keep-Alive requests:",
        "Total transferred:",
        "Total body sent:",
        "HTML transferred:",
    ];
    let is_count = |line: &&str| LABELS.iter().any(|label| line.starts_with(label));
    report.lines().filter(is_count).map(String::from).collect()
}

#[test]
fn ab_counts_the_same_as_the_original() {
    let lines = [
        "-n 20 -c 3 {url}/fixed",
        "-k -n 20 -c 3 {url}/fixed",
        "-k -n 20 -c 3 {url}/close",
        "-i -k -n 5 {url}/fixed",
        "-n 5 {url}/503",
        "-n 10 -p {body} {url}/fixed",
        "-k -n 10 -u {body} {url}/lines",
        "-n 5 {url}/bare",
        "-n 5 {tls}/fixed",
    ];
    ab().compare_counts("", &lines, counts);
    let variable = |report: &str| counts(report)[..2].to_vec();
    let ab = ab();
    let ours = ab.ours("-l -n 1 {url}/variable").out_text();
    if let Some(theirs) = ab.theirs("-l -n 1 {url}/variable") {
        assert_eq!(variable(&theirs.out_text()), variable(&ours));
    }
}

#[test]
fn an_interrupted_ab_prints_its_report_and_exits_with_1() {
    let ours = ab().compare_interrupted("-n 1000 -c 2 {url}/slow", 6);
    assert_eq!(ours.status, Some(1), "{ours:?}");
    assert!(ours.out_text().contains("Requests per second:"), "{ours:?}");
}

#[test]
fn a_time_limit_ends_a_run_against_a_server_that_hangs() {
    let ran = ab().ours("-t 1 -c 2 {url}/hang");
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.out_text().contains("Complete requests:      0\n"));
    assert_eq!(ran.err_text(), "Finished 0 requests\n");
}

#[test]
fn a_run_with_a_time_limit_only_does_not_end_after_fifty_thousand_requests() {
    let ab = ab();
    let timed = ab.ours("-t 1 -k {url}/fixed").out_text();
    let taken = timed.lines().find(|line| line.starts_with("Time taken"));
    let figure = taken
        .and_then(|line| line.split_whitespace().nth(4))
        .unwrap();
    assert!(figure.parse::<f64>().unwrap() > 0.9, "{timed}");
    let counted = ab.ours("-t 60 -k -n 5 {url}/fixed").out_text();
    assert!(counted.contains("Complete requests:      5\n"), "{counted}");
}

//! `mehari ab` beside Debian's ab: same lines in the same order on the same streams, same exit status,
//! same bytes sent.
#![allow(clippy::unwrap_used)]

mod compat;

use compat::line::Places;
use compat::pair::Comparison;
use compat::programs::{link, mehari, run};
use compat::server::Server;
use std::path::Path;

const SETS: &[&str] = &[
    // What is asked for, and how.
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
    // What is printed.
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

#[test]
fn ab_prints_and_sends_what_the_original_does() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let comparison = Comparison {
        name: "ab",
        server: &server,
        folder: folder.path(),
        places: places(&server, folder.path()),
        requests: true,
    };
    let lines: Vec<&str> = SETS.iter().chain(TLS_SETS).copied().collect();
    comparison.all(&lines);
}

#[test]
fn ab_answers_to_its_name_through_a_link_and_as_a_subcommand() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let url = format!("http://127.0.0.1:{}/fixed", server.port);
    let named = run(
        &link(folder.path(), "ab"),
        std::slice::from_ref(&url),
        folder.path(),
    );
    let sub = run(mehari(), &["ab".into(), url], folder.path());
    assert_eq!((named.status, sub.status), (Some(0), Some(0)));
    let (named, sub) = (named.out_text(), sub.out_text());
    assert_eq!(compat::shape::of(&named), compat::shape::of(&sub));
    assert!(named.contains("Complete requests:      1\n"), "{named}");
}

#[test]
fn ab_writes_the_files_the_original_writes() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let places = places(&server, folder.path());
    let words = places.words("-n 7 -e {csv} -g {gnuplot} {url}/fixed");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    run(&link(folder.path(), "ab"), &words, folder.path());
    let ours = (read("csv"), read("gnuplot"));
    assert_eq!(ours.0.lines().count(), 102);
    assert_eq!(ours.1.lines().count(), 8);
    let Some(original) = compat::programs::original("ab") else {
        return;
    };
    run(&original, &words, folder.path());
    let days = |text: &str| {
        text.chars()
            .filter(|c| !c.is_alphabetic())
            .collect::<String>()
    };
    let shape = |text: &str| compat::shape::of(&days(text));
    assert_eq!(shape(&ours.0), shape(&read("csv")));
    assert_eq!(shape(&ours.1), shape(&read("gnuplot")));
}

#[test]
fn a_body_shorter_than_announced_is_a_failure_and_was_none() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let places = places(&server, folder.path());
    let ab = |line: &str| {
        let words = places.words(line);
        run(&link(folder.path(), "ab"), &words, folder.path()).out_text()
    };
    let right = ab("-n 3 {url}/short");
    let failures =
        "Failed requests:        3\n   (Connect: 0, Receive: 0, Length: 3, Exceptions: 0)\n";
    assert!(right.contains(failures), "{right}");
    let old = ab("--bug-compatible -n 3 {url}/short");
    let Some(original) = compat::programs::original("ab") else {
        return;
    };
    let words = places.words("-n 3 {url}/short");
    let theirs = run(&original, &words, folder.path()).out_text();
    assert_eq!(counts(&old), counts(&theirs));
}

#[test]
fn a_connection_closed_without_an_answer_is_a_failure_and_was_none() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let url = format!("http://127.0.0.1:{}/empty", server.port);
    let ab = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        run(&link(folder.path(), "ab"), &words, folder.path()).out_text()
    };
    let right = ab(&["-n", "3", &url]);
    assert!(right.contains("Failed requests:        3\n"), "{right}");
    assert!(right.contains("(Connect: 0, Receive: 3, Length: 0, Exceptions: 0)"));
    let old = ab(&["--bug-compatible", "-n", "3", &url]);
    assert!(old.contains("Failed requests:        0\n"), "{old}");
}

/// The counts of a report, which are not measured but known: the same to the digit.
fn counts(report: &str) -> Vec<&str> {
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
    report.lines().filter(is_count).collect()
}

#[test]
fn ab_counts_what_the_original_counts() {
    let Some(original) = compat::programs::original("ab") else {
        return;
    };
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let places = places(&server, folder.path());
    for line in [
        "-n 20 -c 3 {url}/fixed",
        "-k -n 20 -c 3 {url}/fixed",
        "-k -n 20 -c 3 {url}/close",
        "-i -k -n 5 {url}/fixed",
        "-n 5 {url}/503",
        "-n 10 -p {body} {url}/fixed",
        "-k -n 10 -u {body} {url}/lines",
        "-n 5 {url}/bare",
        "-n 5 {tls}/fixed",
        "-l -n 1 {url}/variable",
    ] {
        let words = places.words(line);
        let theirs = run(&original, &words, folder.path()).out_text();
        let ours = run(&link(folder.path(), "ab"), &words, folder.path()).out_text();
        assert!(counts(&theirs).len() >= 5, "{line}: {theirs}");
        match line.contains("/variable") {
            true => assert_eq!(counts(&theirs)[..2], counts(&ours)[..2], "{line}"),
            false => assert_eq!(counts(&theirs), counts(&ours), "{line}"),
        }
    }
}

#[test]
fn an_interrupted_ab_still_reports_and_answers_1() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let places = places(&server, folder.path());
    let words = places.words("-n 1000 -c 2 {url}/slow");
    let interrupted = |program: &Path| {
        server.forget();
        compat::programs::run_until(program, &words, folder.path(), || server.count() > 6)
    };
    let ours = interrupted(&link(folder.path(), "ab"));
    assert_eq!(ours.status, Some(1), "{ours:?}");
    assert!(ours.out_text().contains("Requests per second:"), "{ours:?}");
    let Some(original) = compat::programs::original("ab") else {
        return;
    };
    let theirs = interrupted(&original);
    assert_eq!(theirs.status, ours.status);
    let shape = |text: String| compat::shape::of(&text);
    assert_eq!(shape(theirs.out_text()), shape(ours.out_text()));
    assert_eq!(shape(theirs.err_text()), shape(ours.err_text()));
}

#[test]
fn a_time_limit_ends_the_run_of_a_server_that_hangs() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let words = places(&server, folder.path()).words("-t 1 -c 2 {url}/hang");
    let ran = run(&link(folder.path(), "ab"), &words, folder.path());
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.out_text().contains("Complete requests:      0\n"));
    assert_eq!(ran.err_text(), "Finished 0 requests\n");
}

#[test]
fn a_time_limit_alone_is_not_cut_by_the_fifty_thousand_requests_it_implies() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let places = places(&server, folder.path());
    let ab = |line: &str| {
        let words = places.words(line);
        run(&link(folder.path(), "ab"), &words, folder.path()).out_text()
    };
    let timed = ab("-t 1 -k {url}/fixed");
    let taken = timed.lines().find(|line| line.starts_with("Time taken"));
    let figure = taken
        .and_then(|line| line.split_whitespace().nth(4))
        .unwrap();
    assert!(figure.parse::<f64>().unwrap() > 0.9, "{timed}");
    let counted = ab("-t 60 -k -n 5 {url}/fixed");
    assert!(counted.contains("Complete requests:      5\n"), "{counted}");
}

//! Compares `mehari httperf` with Debian's httperf: the printed lines and their order, the streams,
//! the exit status and the sent bytes must be equal.
#![allow(clippy::unwrap_used)]

mod stand;

use stand::line::Places;
use stand::pair::Pair;
use stand::server::Server;
use std::path::Path;

const SETS: &[&str] = &[
    "{to} --uri /fixed",
    "{to} --uri /fixed --num-conn 3 --num-call 2",
    "{to} --uri=/fixed --ra 50 --num-conns=10",
    "{to} --uri /fixed --period 0.01 --num-conns 5",
    "{to} --uri /fixed --period d0.01 --num-conns 5",
    "{to} --uri /fixed --period u0.005,0.01 --num-conns 5",
    "{to} --uri /fixed --period e0.01 --num-conns 5",
    "{to} --uri /fixed --rate 0 --num-conns 2",
    "{to} --uri /lines --print-reply",
    "{to} --uri /lines --print-reply=header --num-conns 2",
    "{to} --uri /lines --print-reply=body --num-calls 2",
    "{to} --uri /lines --print-request",
    "{to} --uri /lines --print-req=header --print-rep=header",
    "{to} --uri /chunked --num-calls 2",
    "{to} --uri /close",
    "{to} --uri /fixed -v",
    "{to} --uri /fixed -vv --num-conns 2",
    "{to} --uri /fixed --verbose --verbose",
    "{to} --uri /fixed --http-version 1.0 --num-calls 2",
    "{to} --uri /fixed --method HEAD",
    "{to} --uri /fixed --method PUT --add-header 'X-One: 1\\n'",
    "{to} --uri /fixed --add-header 'X-A: \\101\\nX-B: b\\n' --server-name elsewhere.test",
    "{to} --uri /fixed --burst-length 2 --num-calls 4",
    "{to} --uri /fixed --burst-length 3 --num-calls 6 --max-piped-calls 2",
    "{to} --uri /fixed --close-with-reset --num-conns 2",
    "{to} --uri /fixed --send-buffer 8192 --recv-buffer 8192",
    "{to} --uri /fixed --think-timeout 1 --timeout 2",
    "{to} --uri /fixed --max-connections 3 --num-conns 3",
    "{to} --uri /fixed --client 1/2",
    "{to} --uri /503 --num-conns 2",
    "{to} --uri /404",
    "{to} --uri /302",
    "{to} --wset 3,0.5 --num-conns 4 --uri /fixed",
    "{to} --wset 30,0.5 --num-conns 4 --uri /fixed",
    "{to} --wlog=y,{list} --num-conns 4",
    "{to} --wlog y,{missing}",
    "{to} --uri /fixed --wsess 2,3,0.05 --rate 20",
    "{to} --uri /fixed --wsess 2,4,0 --burst-length 2",
    "{to} --uri /cookie --wsess 2,3,0 --session-cookies",
    "{to} --uri /503 --wsess 2,3,0 --failure-status 503",
    "{to} --wsesslog 3,0.02,{sessions} --rate 4",
    "{to} --wsesslog 2,0.02,{sessions} --print-request --rate 2",
    "{to} --wsesslog 1,0,{missing}",
    "{to} --wsesslog 1,0,{wrong}",
    "{to} --uri /fixed --debug 1",
    "{to} --uri /fixed extra words",
    "--help",
    "-h",
    "{to} --uri /fixed --version",
    "{tls} --uri /fixed --ssl --num-calls 2",
    "{tls} --uri /fixed --ssl --ssl-no-reuse --num-conns 2",
    // Errors on the wire.
    "{refused}",
    "{refused} --num-conns 3 --rate 50",
    "{refused} --wsess 2,2,0",
    "{to} --uri /hang --timeout 1",
    "{to} --uri /hang --timeout 0.5 --num-conns 3 --rate 10",
    "{to} --uri /reset --num-conns 2",
    "{to} --uri /reset --wsess 2,2,0",
    "{to} --uri /broken --num-conns 2",
    "{to} --uri /short --num-conns 2",
    // A run that is long enough for a sample of five seconds.
    "{to} --uri /fixed --wsess 55,1,0 --rate 10 -v",
    "{to} --uri /empty --num-conns 2",
    "--server nosuch.invalid",
    // Misuse.
    "{to} --bogus",
    "{to} --ra 10 --num-c 5",
    "{to} --num-conns",
    "{to} --verbose=3",
    "{to} -x",
    "{to} -d",
    "{to} --rate x",
    "{to} --rate 1x",
    "{to} --period d",
    "{to} --period q1",
    "{to} --period u3",
    "{to} --period u3,x",
    "{to} --num-conns x",
    "{to} --num-calls 3x",
    "{to} --port 99999",
    "{to} --timeout x",
    "{to} --think-timeout x",
    "{to} --burst-length 0",
    "{to} --failure-status 0",
    "{to} --max-connections x",
    "{to} --max-piped-calls x",
    "{to} --send-buffer x",
    "{to} --recv-buffer x",
    "{to} --client 3",
    "{to} --client x",
    "{to} --client 1/1",
    "{to} --http-version x",
    "{to} --http-version 1.2",
    "{to} --wsess x",
    "{to} --wsess 3",
    "{to} --wsess 3,2",
    "{to} --wsess 3,2,x",
    "{to} --wsess 3,2,1,4",
    "{to} --wsesslog 3,1",
    "{to} --wset x",
    "{to} --wset 3,2",
    "{to} --session-cookies",
];

fn places(server: &Server, folder: &Path) -> Places<'static> {
    let file = |name: &str| folder.join(name).display().to_string();
    std::fs::write(folder.join("list"), "/fixed\0/lines\0").unwrap();
    let sessions = "# two sessions\n/fixed think=0.01\n\t/lines\n/fixed method=POST contents=\"hello\\n\"\n\n/lines\n";
    std::fs::write(folder.join("sessions"), sessions).unwrap();
    std::fs::write(folder.join("wrong"), "/fixed method=FETCH\n").unwrap();
    Places {
        known: vec![
            ("to", format!("--server 127.0.0.1 --port {}", server.port)),
            (
                "refused",
                format!("--server 127.0.0.1 --port {}", server.refused_port),
            ),
            (
                "tls",
                format!("--server 127.0.0.1 --port {}", server.tls_port),
            ),
            ("list", file("list")),
            ("sessions", file("sessions")),
            ("wrong", file("wrong")),
            ("missing", file("no/such/file")),
        ],
    }
}

fn httperf() -> Pair {
    Pair::new("httperf", places)
}

#[test]
fn httperf_prints_and_sends_the_same_as_the_original() {
    httperf().compare(SETS);
}

#[test]
fn httperf_runs_through_a_link_of_its_name_and_as_a_subcommand() {
    let named = httperf().answers_to_its_name("{to} --uri /fixed");
    assert!(named.contains("Reply status: 1xx=0 2xx=1 "), "{named}");
}

/// Returns all counts of a report except the size of chunk framing, which httperf counts nowhere.
fn counts(report: &str) -> Vec<String> {
    const LABELS: [&str; 5] = [
        "Request size",
        "Reply size",
        "Reply status",
        "Errors:",
        "Session length",
    ];
    let count = |line: &str| match line.split_once(" test-duration") {
        Some((counts, _)) => Some(counts.to_string()),
        None => LABELS
            .iter()
            .any(|label| line.starts_with(label))
            .then(|| line.to_string()),
    };
    report.lines().filter_map(count).collect()
}

#[test]
fn httperf_counts_the_same_as_the_original() {
    let lines = [
        "{to} --uri /fixed --num-conns 5 --num-calls 3",
        "{to} --uri /fixed --num-conns 10 --rate 50",
        "{to} --uri /404 --num-conns 3",
        "{to} --uri /fixed --burst-length 3 --num-calls 6",
        "{to} --uri /fixed --wsess 3,4,0.01",
        "{to} --wsesslog 4,0.01,{sessions} --rate 10",
        "{to} --uri /reset --num-conns 3",
        "{to} --uri /empty --num-conns 3",
        "{to} --uri /broken --num-conns 3",
        "{to} --uri /short --num-conns 3",
        "{to} --uri /hang --num-conns 2 --timeout 0.5 --rate 10",
        "{refused} --num-conns 3",
        "{refused} --wsess 3,2,0",
        "{to} --uri /503 --failure-status 503 --wsess 3,4,0",
    ];
    // httperf cuts sizes to whole bytes. With this option Mehari does the same.
    httperf().compare_counts("--bug-compatible", &lines, counts);
}

#[test]
fn an_interrupted_httperf_prints_its_report_and_exits_with_0() {
    let line = "{to} --uri /slow --num-conns 1000 --rate 20";
    let ours = httperf().compare_interrupted(line, 8);
    assert_eq!(ours.status, Some(0), "{ours:?}");
}

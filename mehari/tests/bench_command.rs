//! Tests `mehari bench` as users run it: bad input, the report, the record, exit statuses.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// Answers every request with six bytes and counts connections.
fn server() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::Relaxed);
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).is_ok_and(|count| count > 0) {
                    let answer =
                        b"HTTP/1.1 200 OK\r\nServer: test\r\nContent-Length: 6\r\n\r\nhello\n";
                    if stream.write_all(answer).is_err() {
                        break;
                    }
                }
            });
        }
    });
    (address, connections)
}

fn bench(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mehari"));
    command
        .arg("bench")
        .args(words)
        .output()
        .expect("the binary runs")
}

#[test]
fn bad_input_is_refused_with_one_line_and_status_2_and_no_load_is_sent() {
    let (address, connections) = server();
    let url = format!("http://{address}/");
    let url = url.as_str();
    for (words, reason) in [
        (vec![], "at least one URL"),
        (vec!["http:///path"], "the host is missing"),
        (vec!["localhost:80"], "does not begin with http"),
        (vec!["-c", "0", url], "0 connections"),
        (vec!["-n", "0", url], "0 requests"),
        (vec!["-c", "8", "-n", "4", url], "-c 8 is greater than -n 4"),
        (vec!["-d", "0s", url], "must be more than 0"),
        (vec!["-d", "soon", url], "expected a time"),
        (vec!["--rate", "0", url], "the rate must be"),
        (vec!["--rate", "fast", url], "expected a rate"),
        (vec!["--stage", "10s", url], "expected TIME:RATE/s"),
        (
            vec!["--stage", "10s:5/s", "--rate", "5", url],
            "cannot be used with",
        ),
        (vec!["--urls", "/no/such/file"], "cannot read /no/such/file"),
        (
            vec!["--session", "/no/such/file"],
            "cannot read /no/such/file",
        ),
        (
            vec!["--body-file", "/no/such/file", url],
            "cannot read /no/such/file",
        ),
        (
            vec!["--cacert", "/no/such/file", "https://localhost/"],
            "cannot read /no/such/file",
        ),
        (vec!["--conections", "8", url], "'--connections'"),
        (vec!["-H", "no colon", url], "Name: value"),
        (vec!["-H", "bad name: x", url], "not the name of a header"),
        (vec!["-m", "GE T", url], "not a request method"),
        (vec!["--basic", "name", url], "USER:PASSWORD"),
        (vec!["--throttle", "fast", url], "expected a speed"),
        (vec!["--timeout", "0s", url], "time-out of 0"),
        (vec!["--threads", "0", url], "0 threads"),
        (vec!["-o", "run.xml", url], "`run.xml` is not known"),
        (vec!["-o", "/no/such/run.json", url], "an existing folder"),
        (vec!["-o", "/tmp", url], "expected a file"),
        (vec!["--rate", "5e9", url], "the rate must be"),
        (vec!["--start-at", "soon", url], "expected a time"),
        (
            vec!["--http2", "--no-keep-alive", url],
            "exclude each other",
        ),
    ] {
        let output = bench(&words);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {text}");
        assert!(output.stdout.is_empty(), "{words:?}");
        assert_eq!(text.lines().count(), 1, "{words:?}: {text}");
        assert!(
            text.starts_with("mehari bench: ") && text.contains(reason),
            "{words:?}: {text}"
        );
    }
    assert_eq!(connections.load(Ordering::Relaxed), 0);
}

#[test]
fn only_the_report_is_printed_and_it_counts_the_answers() {
    let (address, _) = server();
    let output = bench(&["-c", "2", "-n", "2000", &format!("http://{address}/")]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(output.stderr.is_empty());
    for part in [
        "Answered",
        "2,000",
        "200: 2,000",
        "Response time",
        "Service time",
        "p99",
        "server test",
        "Verdict: ",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // Only two of 2,000 samples lie beyond p99.9, which is too few to print this percentile.
    let row = text
        .lines()
        .find(|line| line.starts_with("Response time"))
        .expect("its row");
    assert_eq!(row.matches(" -").count(), 2, "{row}");
}

#[test]
fn the_printed_and_the_saved_record_are_equal() {
    let (address, _) = server();
    let path = std::env::temp_dir().join(format!("mehari-bench-{}.json", std::process::id()));
    let saved = path.to_string_lossy();
    let url = format!("http://{address}/");
    let output = bench(&[
        "-n",
        "50",
        "--no-ceiling",
        "--json",
        "--output",
        &saved,
        &url,
    ]);
    let printed = String::from_utf8_lossy(&output.stdout);
    let written = std::fs::read_to_string(&path).expect("the file is there");
    std::fs::remove_file(&path).expect("the file is ours");
    assert_eq!(printed, written);
    let record = mehari_record::Record::from_json(&printed, "stdout").expect("a record");
    assert_eq!((record.counts.completed, record.counts.attempted), (50, 50));
    assert_eq!(
        (record.plan.requests, record.server.as_str()),
        (Some(50), "test")
    );
}

#[test]
fn run_without_an_answer_fails_with_a_reason() {
    // No server listens, so there is no answer and the run is INVALID.
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/", free.local_addr().expect("bound"));
    drop(free);
    let lenient = bench(&["-n", "3", "--no-ceiling", &url]);
    let strict = bench(&["-n", "3", "--no-ceiling", "--strict", &url]);
    assert_eq!(
        (lenient.status.code(), strict.status.code()),
        (Some(1), Some(1))
    );
    let text = String::from_utf8_lossy(&strict.stdout);
    assert!(
        text.contains("connect: 3") && text.contains("Connection refused"),
        "{text}"
    );
    assert!(text.contains("Verdict: INVALID"), "{text}");
}

#[test]
fn an_interrupt_ends_the_run_and_prints_its_report() {
    let (address, connections) = server();
    let child = Command::new(env!("CARGO_BIN_EXE_mehari"))
        .args([
            "bench",
            "-d",
            "600s",
            "--no-ceiling",
            &format!("http://{address}/"),
        ])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    while connections.load(Ordering::Relaxed) == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(100));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::Int).expect("our child");
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text.contains("Answered") && text.contains("ended before its time"),
        "{text}"
    );
}

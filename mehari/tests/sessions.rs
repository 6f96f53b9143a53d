//! Tests `mehari record` and `mehari replay` as users run them.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};

use rustix::process::{kill_process, Pid, Signal};
use serde_json::Value;
use support::*;

struct Recorder {
    child: Child,
    address: String,
    file: std::path::PathBuf,
    _folder: tempfile::TempDir,
}

fn record(site: SocketAddr) -> Recorder {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("session.har");
    let mut child = mehari()
        .args(["record", "--listen", "127.0.0.1:0", "--to"])
        .arg(format!("http://{site}"))
        .arg("-o")
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    let rest = line.strip_prefix("mehari: recording http://").expect(&line);
    let address = rest.split('/').next().unwrap().to_owned();
    Recorder {
        child,
        address,
        file,
        _folder: folder,
    }
}

impl Recorder {
    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.address
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn end(&mut self, signal: Signal) -> String {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        assert!(self.child.wait().unwrap().success());
        let mut said = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        said
    }
}

#[test]
fn interrupt_writes_the_session_and_a_replay_finds_no_change() {
    let mut recorder = record(site());
    assert!(recorder.get("/first?a=1").ends_with("/first?a=1"));
    assert!(recorder.get("/second").ends_with("/second"));
    let said = recorder.end(Signal::Int);
    assert!(said.contains("2 exchanges in "), "{said}");
    let file = recorder.file.display().to_string();

    let output = run(&[
        "replay",
        &file,
        "--users",
        "5",
        "--speed",
        "max",
        "--check",
        "status,body",
    ]);
    assert!(output.status.success(), "{}", stdout(&output));
    assert!(
        stdout(&output).contains("10 as recorded, 0 not; 5 users"),
        "{}",
        stdout(&output)
    );

    let page = recorder.file.with_extension("html").display().to_string();
    let output = run(&[
        "replay", &file, "--speed", "max", "--json", "--output", &page,
    ]);
    assert!(std::fs::read_to_string(&page)
        .unwrap()
        .contains("replay of 2 requests by 1 user"));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["ok"], &report["failed"]), (&2.into(), &0.into()));
    assert_eq!(report["entries"][0]["path"], "/first?a=1");
    assert_eq!(report["entries"][0]["response"]["count"], 1);
}

#[test]
fn replay_of_a_changed_page_exits_with_1_and_names_the_page() {
    let mut recorder = record(site());
    recorder.get("/count");
    recorder.end(Signal::Term);
    let file = recorder.file.display().to_string();
    assert!(
        run(&["replay", &file]).status.success(),
        "the status is the same"
    );
    let output = run(&["replay", &file, "--check", "body"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).contains("body differs from byte "),
        "{}",
        stdout(&output)
    );
}

#[test]
fn replay_sends_requests_to_another_server_with_option_to() {
    let mut recorder = record(site());
    recorder.get("/page");
    recorder.end(Signal::Term);
    let file = recorder.file.display().to_string();
    let to = format!("http://{}", site());
    let output = run(&["replay", &file, "--to", &to, "--check", "status,body"]);
    assert!(output.status.success());
    assert!(stdout(&output).contains(&to));
}

#[test]
fn arguments_without_sense_are_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("x.har").display().to_string();
    std::fs::write(&text, "no archive").unwrap();
    let to = ["--to", "http://127.0.0.1:9"];
    for (arguments, why) in [
        (&["record"][..], "--to"),
        (
            &["record", "--to", "127.0.0.1"],
            "expected a URL like http://127.0.0.1:8080",
        ),
        (&["record", "--to", "http://a/b"], "without a path"),
        (
            &["record", to[0], to[1], "--listen", "nowhere"],
            "cannot listen on `nowhere`",
        ),
        (
            &[
                "record",
                to[0],
                to[1],
                "--listen",
                "127.0.0.1:0",
                "-o",
                "/no/such/x.har",
            ],
            "cannot write /no/such/x.har",
        ),
        (&["record", to[0], to[1], "--listne", "a"], "'--listen'"),
        (&["replay"], "FILE"),
        (&["replay", "gone.har"], "cannot read gone.har"),
        (&["replay", &text], "expected a HAR 1.2 file"),
        (&["replay", &text, "--users", "0"], "more than 0"),
        (
            &["replay", &text, "--speed", "0"],
            "from 0.001 to 1000000, or `max`",
        ),
        (
            &["replay", &text, "--check", "statu"],
            "expected `status`, `body` or `none`",
        ),
    ] {
        assert_refused(arguments, why);
    }
}

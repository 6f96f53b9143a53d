//! A generator that does not get its core says so. That the starts are on time on a machine that is free is
//! measured, not tested: docs/measured.md has the command.
#![allow(clippy::unwrap_used)]

mod compat;
mod known;

use std::process::{Child, Command, Stdio};

use compat::programs::mehari;
use mehari_record::{Judgement, Record};

/// Keeps core 0 busy while it lives.
struct Spinner(Child);

impl Spinner {
    fn start() -> Spinner {
        let words = ["-c", "0", "sh", "-c", "while :; do :; done"];
        Spinner(Command::new("taskset").args(words).spawn().unwrap())
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_run_whose_core_another_process_takes_is_not_valid() {
    let server = known::Server::start();
    let _spinner = Spinner::start();
    let bench = Command::new("taskset")
        .args(["-c", "0"])
        .arg(mehari())
        .args(["bench", "--rate", "500", "-d", "1s", "--timeout", "5s"])
        .args(["--no-ceiling", "--strict", "--json"])
        .arg(server.url("/"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(bench.status.code(), Some(1), "{bench:?}");
    let text = String::from_utf8(bench.stdout).unwrap();
    let verdict = Record::from_json(&text, "the record").unwrap().verdict;
    assert_ne!(verdict.judgement, Judgement::Valid);
    let told = |check: &str| verdict.reasons.iter().any(|reason| reason.check == check);
    assert!(told("run queue") && told("pacing"), "{verdict:?}");
}

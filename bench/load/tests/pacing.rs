//! Tests that a generator reports a core that other processes take from it. Whether requests start
//! on time on an idle machine is measured, not tested: docs/reference/measured.md has the command.
#![allow(clippy::unwrap_used)]

mod known;
#[path = "../../compat/tests/stand/programs.rs"]
#[allow(dead_code)]
mod programs;

use std::process::{Child, Command, Stdio};

use mehari_record::{Judgement, Record};
use programs::mehari;

/// Processes that keep core 0 busy. A single process would leave half of the core to the generator,
/// and requests might still start on time.
struct Spinners([Child; 4]);

impl Spinners {
    fn start() -> Spinners {
        let words = ["-c", "0", "sh", "-c", "while :; do :; done"];
        Spinners([(); 4].map(|()| Command::new("taskset").args(words).spawn().unwrap()))
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        for spinner in &mut self.0 {
            let _ = spinner.kill();
            let _ = spinner.wait();
        }
    }
}

#[test]
fn a_run_whose_core_another_process_takes_is_not_valid() {
    // `mehari` builds the program first, because cargo would otherwise share the busy core.
    let program = mehari();
    let server = known::Server::start();
    let _spinners = Spinners::start();
    let bench = Command::new("taskset")
        .args(["-c", "0"])
        .arg(program)
        .args(["bench", "--rate", "20000", "-d", "250ms", "--timeout", "5s"])
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

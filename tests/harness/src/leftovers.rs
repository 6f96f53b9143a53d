//! Checks the server after each test: the server must leave nothing behind.

use crate::processes;
use crate::server::Server;
use crate::PATIENCE;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Longer than a kept program's start, and than the pause before another one.
const SETTLED: Duration = Duration::from_millis(500);

impl Server {
    /// Accepts the descriptors that are open now, for programs that the configuration keeps
    /// running. A program may be between its end and its next start, so the numbers are taken after
    /// they have not changed for a while.
    pub fn may_keep_what_it_has(&mut self) {
        let mut since = Instant::now();
        let settled = crate::eventually(PATIENCE, || {
            let now = self.descriptors();
            if now != self.base {
                since = Instant::now();
            }
            self.base = now;
            since.elapsed() >= SETTLED
        });
        assert!(settled, "its descriptors change: {:?}", self.base);
    }

    /// Stops the test's server and returns all problems.
    fn judge(&mut self) -> Vec<String> {
        let mut faults = Vec::new();
        if !self.stopped {
            self.judge_running(&mut faults);
            self.signal(Signal::Term);
            match self.wait() {
                _ if self.successor.is_some() => {
                    if !self.successor_ends() {
                        faults.push("it did not stop on TERM".to_owned());
                    }
                }
                None => faults.push("it did not stop on TERM".to_owned()),
                Some(status) if !status.success() => faults.push(format!("TERM: {status}")),
                Some(_) => {}
            }
        }
        if !self.leaves_processes {
            let mut left = Vec::new();
            crate::eventually(Duration::from_secs(5), || {
                left = self.family();
                left.is_empty()
            });
            if !left.is_empty() {
                faults.push(format!("stray processes: {left:?}"));
            } else if self.child.try_wait().is_ok_and(|status| status.is_some()) {
                self.stdout.wait_for_end(crate::PATIENCE);
                self.log.wait_for_end(crate::PATIENCE);
            }
        }
        if self.ready && !self.on_apache && self.stdout.lines().len() != 1 + self.upgrades {
            faults.push(format!(
                "stdout is not one line for each start: {:?}",
                self.stdout.lines()
            ));
        }
        for line in self.log.lines() {
            let is_bad = ALARMS.iter().any(|alarm| line.contains(alarm));
            if is_bad && !self.expected.iter().any(|words| line.contains(words)) {
                faults.push(format!("log: {line}"));
            }
        }
        faults
    }

    fn judge_running(&mut self, faults: &mut Vec<String>) {
        if let Some(pid) = self.successor {
            if !processes::is_alive(pid) {
                faults.push(format!("process {pid} ended before it was stopped"));
                return;
            }
        } else if let Ok(Some(status)) = self.child.try_wait() {
            self.stopped = true;
            faults.push(format!("it ended before it was stopped: {status}"));
            return;
        }
        if self.on_apache {
            return;
        }
        let mut now = BTreeMap::new();
        let settled = crate::eventually(Duration::from_secs(10), || {
            now = self.descriptors();
            !has_grown(&self.base, &now)
        });
        if !settled {
            faults.push(format!(
                "descriptors leaked: {:?} became {now:?}",
                self.base
            ));
        }
    }
}

/// Words in the log that fail a test. The last three come from a sanitizer and a debugging perl
/// (tests/sanitize).
const ALARMS: &[&str] = &[
    "[alert]",
    "[emerg]",
    ":alert]",
    ":emerg]",
    "panicked at",
    ": runtime error: ",
    "AddressSanitizer: ",
    "Assertion `",
];

/// Kinds of descriptors that the front has for each worker. Their number depends on the number of
/// workers.
const OF_A_WORKER: &[&str] = &["memfd", "eventfd", "pidfd"];

fn has_grown(base: &BTreeMap<String, usize>, now: &BTreeMap<String, usize>) -> bool {
    now.iter()
        .filter(|(kind, _)| !OF_A_WORKER.contains(&kind.as_str()))
        .any(|(kind, count)| count > base.get(kind).unwrap_or(&0))
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            if let Ok(Some(status)) = self.child.try_wait() {
                eprintln!("--- the server had ended: {status}");
            }
            eprintln!("--- the server's log\n{}\n---", self.log.text());
            self.kill_everything();
            return;
        }
        let faults = self.judge();
        self.kill_everything();
        if !faults.is_empty() {
            panic!(
                "after the test: {}\n--- the server's log\n{}",
                faults.join("; "),
                self.log.text()
            );
        }
    }
}

//! Tells whether the machine has more work than its cores can do at once. In this case, starting
//! one more process makes all requests wait.
//!
//! Workers that hold a request do not show this, because they may sleep until a database answers.
//! The kernel counts the threads that run or want to run (/proc/loadavg, proc(5)). In a container
//! this number is the host's.

use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// How long an answer holds, because reading the file takes some microseconds.
const FRESH: Duration = Duration::from_millis(5);
/// The threads for each core from which on the cores are contended. The front and the clients on
/// the same machine are among them.
const PER_CORE: u64 = 2;

pub struct Contention {
    /// `None`: the system has no such file, so the cores are never contended.
    file: Option<File>,
    cores: u64,
    last: Cell<Option<(Instant, bool)>>,
}

impl Default for Contention {
    fn default() -> Contention {
        Contention {
            file: File::open("/proc/loadavg").ok(),
            cores: cores(),
            last: Cell::new(None),
        }
    }
}

impl Contention {
    pub fn is_high(&self, now: Instant) -> bool {
        let fresh = |(at, _): &(Instant, bool)| now.saturating_duration_since(*at) < FRESH;
        if let Some((_, known)) = self.last.get().filter(fresh) {
            return known;
        }
        let is_high = self
            .wanting()
            .is_some_and(|count| count > PER_CORE * self.cores);
        self.last.set(Some((now, is_high)));
        is_high
    }

    /// Returns the number of threads that run or want to run.
    fn wanting(&self) -> Option<u64> {
        let mut bytes = [0; 128];
        let length = self.file.as_ref()?.read_at(&mut bytes, 0).ok()?;
        wanting_of(std::str::from_utf8(&bytes[..length]).ok()?)
    }
}

/// The fourth word is `RUNNING/ALL`.
fn wanting_of(text: &str) -> Option<u64> {
    text.split(' ').nth(3)?.split_once('/')?.0.parse().ok()
}

/// Returns the number of the machine's cores. A process that may use only some of them competes for
/// these with the threads of all.
fn cores() -> u64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let is_core = |line: &&str| {
        let rest = line.strip_prefix("cpu");
        rest.is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit()))
    };
    (text.lines().filter(is_core).count() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_want_to_run_are_read() {
        assert_eq!(wanting_of("0.20 0.18 0.12 3/80 11206\n"), Some(3));
        assert_eq!(wanting_of("0.20 0.18 0.12 380 11206\n"), None);
        assert_eq!(wanting_of(""), None);
        // This thread runs.
        assert!(Contention::default().wanting() >= Some(1));
        assert!(cores() >= 1);
    }
}

//! Counts what a run has done and found, and reports it.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::Instant;

/// So many wrong answers are told in full.
const TOLD: usize = 20;

pub struct Figures {
    begun: Instant,
    pub requests: AtomicUsize,
    /// Requests without the expected answer, as the death of a process may cause.
    lost: AtomicUsize,
    pub gone: AtomicUsize,
    pub deaths: AtomicUsize,
    pub reloads: AtomicUsize,
    wrong: AtomicUsize,
    told: Mutex<Vec<String>>,
    /// The longest time that a client waited for an answer, and for which script.
    slowest: Mutex<(f64, String)>,
}

impl Figures {
    pub fn new() -> Figures {
        Figures {
            begun: Instant::now(),
            requests: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
            gone: AtomicUsize::new(0),
            deaths: AtomicUsize::new(0),
            reloads: AtomicUsize::new(0),
            wrong: AtomicUsize::new(0),
            told: Mutex::default(),
            slowest: Mutex::default(),
        }
    }

    pub fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Notes how long a client waited for an answer.
    pub fn took(&self, seconds: f64, script: &str) {
        let mut slowest = self.slowest.lock().expect("no panic under the lock");
        if seconds > slowest.0 {
            *slowest = (seconds, script.to_owned());
        }
    }

    /// Notes that a request had no answer. Returns false if fewer processes died: a process serves
    /// one request at a time.
    pub fn loses(&self) -> bool {
        let lost = 1 + self.lost.fetch_add(1, Ordering::Relaxed);
        lost <= self.deaths.load(Ordering::Relaxed)
    }

    /// Notes a wrong answer, and prints it at once.
    pub fn wrong(&self, what: String) {
        self.wrong.fetch_add(1, Ordering::Relaxed);
        let mut told = self.told.lock().expect("no panic under the lock");
        if told.len() < TOLD {
            println!("WRONG: {what}");
            told.push(what);
        }
    }

    /// Fails if an answer was wrong.
    pub fn judge(&self) {
        let told = self.told.lock().expect("no panic under the lock");
        assert!(told.is_empty(), "{self}\n{}", told.join("\n"));
        let requests = self.requests.load(Ordering::Relaxed);
        assert!(requests > 0, "no request was sent");
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        let slowest = self.slowest.lock().expect("no panic under the lock");
        write!(
            out,
            "{:.0} s: {} requests ({:.0} a second), {} wrong, {} lost by {} deaths, {} reloads, \
             {} clients gone, slowest {:.1} s ({})",
            self.seconds(),
            of(&self.requests),
            of(&self.requests) as f64 / self.seconds(),
            of(&self.wrong),
            of(&self.lost),
            of(&self.deaths),
            of(&self.reloads),
            of(&self.gone),
            slowest.0,
            slowest.1
        )
    }
}

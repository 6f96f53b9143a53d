//! Defines the result of a run: each thread's observer, the counts and the costs.

use std::time::{Duration, SystemTime};

use crate::address::Address;
use crate::moment::Moment;

/// A finished run.
#[derive(Debug)]
pub struct RunOutcome<O> {
    /// The outcomes of the threads, in order.
    pub threads: Vec<ThreadOutcome<O>>,
    /// The addresses of the URLs' host names; empty if the URLs hold addresses.
    pub addresses: Vec<Address>,
    /// Wall-clock time of the origin.
    pub began: SystemTime,
    /// The time from the origin to the end of the last thread.
    pub elapsed: Duration,
    /// Whether `Control::stop` or an observer ended the run early.
    pub interrupted: bool,
}

/// The result of one thread.
#[derive(Debug)]
pub struct ThreadOutcome<O> {
    pub observer: O,
    pub totals: Totals,
    pub cpu_user: Duration,
    pub cpu_system: Duration,
    /// How long the thread was ready to run but had no core (second field of schedstat).
    pub run_queue_delay: Duration,
    /// How often the thread lost its core.
    pub preemptions: u64,
    pub ended: Moment,
}

/// The counts of a thread over the whole run, including the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub planned: u64,
    pub completed: u64,
    pub failed: u64,
    pub connections: u64,
    /// The most connections open at once.
    pub most_connections: u64,
    /// The most requests under way at once.
    pub most_in_flight: u64,
    pub sent_bytes: u64,
    pub received_bytes: u64,
    /// How often the driver changed to a further source address because the ports ran out.
    pub source_changes: u64,
}

impl Totals {
    pub fn add(&mut self, other: &Totals) {
        self.planned += other.planned;
        self.completed += other.completed;
        self.failed += other.failed;
        self.connections += other.connections;
        self.most_connections += other.most_connections;
        self.most_in_flight += other.most_in_flight;
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.source_changes += other.source_changes;
    }
}

impl<O> RunOutcome<O> {
    /// Returns the counts of all threads. The maxima of the threads are added, so they are exact
    /// with one thread only.
    pub fn totals(&self) -> Totals {
        let mut all = Totals::default();
        for thread in &self.threads {
            all.add(&thread.totals);
        }
        all
    }

    /// Returns the user and system time of the driver's threads.
    pub fn cpu(&self) -> Duration {
        self.threads.iter().map(ThreadOutcome::cpu).sum()
    }
}

impl<O> ThreadOutcome<O> {
    /// Returns the user and system time of the thread.
    pub fn cpu(&self) -> Duration {
        self.cpu_user + self.cpu_system
    }
}

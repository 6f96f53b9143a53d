//! What a run came to, apart from what the observers kept.

use std::time::{Duration, SystemTime};

use crate::address::Address;
use crate::moment::Moment;

/// A finished run.
#[derive(Debug)]
pub struct Outcome<O> {
    /// One for each thread, in order.
    pub threads: Vec<ThreadOutcome<O>>,
    /// What the names of the URLs came to; nothing for addresses given as such.
    pub addresses: Vec<Address>,
    /// Wall-clock time of the origin.
    pub began: SystemTime,
    /// From the origin to the end of the last thread.
    pub elapsed: Duration,
    /// The run was ended by `Control::stop` or an observer that gave up.
    pub interrupted: bool,
}

/// What one thread did.
#[derive(Debug)]
pub struct ThreadOutcome<O> {
    pub observer: O,
    pub totals: Totals,
    pub cpu_user: Duration,
    pub cpu_system: Duration,
    /// Time it was ready to run and did not (schedstat, second field).
    pub run_queue_delay: Duration,
    /// Times it was taken off its core.
    pub preemptions: u64,
    pub ended: Moment,
}

/// Counts over the whole run, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub planned: u64,
    pub completed: u64,
    pub failed: u64,
    pub connections: u64,
    /// Most connections open at once.
    pub most_connections: u64,
    /// Most requests under way at once.
    pub most_under_way: u64,
    pub sent_bytes: u64,
    pub received_bytes: u64,
    /// Times a further source address had to be taken because ports ran out.
    pub source_changes: u64,
}

impl Totals {
    pub fn add(&mut self, other: &Totals) {
        self.planned += other.planned;
        self.completed += other.completed;
        self.failed += other.failed;
        self.connections += other.connections;
        self.most_connections += other.most_connections;
        self.most_under_way += other.most_under_way;
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.source_changes += other.source_changes;
    }
}

impl<O> Outcome<O> {
    /// The counts of all threads; the maxima are added, which is exact only with one thread.
    pub fn totals(&self) -> Totals {
        let mut all = Totals::default();
        for thread in &self.threads {
            all.add(&thread.totals);
        }
        all
    }

    /// User plus system time of the driver's threads.
    pub fn cpu(&self) -> Duration {
        self.threads.iter().map(ThreadOutcome::cpu).sum()
    }
}

impl<O> ThreadOutcome<O> {
    /// User plus system time.
    pub fn cpu(&self) -> Duration {
        self.cpu_user + self.cpu_system
    }
}

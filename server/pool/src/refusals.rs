//! Counts the requests that got no worker, by the reason.

use crate::call::Fault;

/// Counts of requests that got 503 or 431 instead of a worker.
#[derive(Debug, Default, Clone, serde::Serialize)]
pub struct Refusals {
    pub overload: u64,
    pub queue_full: u64,
    pub queue_timeout: u64,
    /// The team has no worker, because its processes end again and again.
    pub crash_loop: u64,
    /// The server was loading or stopping, or the head was too long.
    pub other: u64,
}

impl Refusals {
    pub fn count(&mut self, fault: Fault) {
        let count = match fault {
            Fault::Overloaded(_) => &mut self.overload,
            Fault::QueueFull => &mut self.queue_full,
            Fault::QueueTimedOut => &mut self.queue_timeout,
            Fault::CrashLoop(_) => &mut self.crash_loop,
            _ => &mut self.other,
        };
        *count += 1;
    }
}

//! Requests that wait for a worker.

use crate::arrived::Owed;
use crate::call::TimeLimits;
use crate::script::Script;
use crate::worker::Tries;
use mehari_config::LogLevel;
use rustix::fd::OwnedFd;
use std::time::{Duration, Instant};

/// A request without a worker, stored as the frame that its worker will get.
pub(crate) struct Queued {
    pub owed: Owed,
    pub request_id: u64,
    /// The number of the virtual host, whose log gets the messages about the request.
    pub host: u32,
    pub script: Option<Script>,
    pub frame: Vec<u8>,
    pub body_file: Option<OwnedFd>,
    pub timeout: TimeLimits,
    /// See [`Call::log_level`](crate::Call::log_level).
    pub log_level: Option<LogLevel>,
    pub tries: Tries,
}

impl Queued {
    /// Returns the time at which the request came to the pool. A request that a worker gave back
    /// unstarted keeps this time, so that no request waits longer than `WorkerQueueTimeout` in all.
    pub fn submitted(&self) -> Instant {
        self.owed.arrived().submitted
    }

    pub fn waited(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.submitted())
    }
}

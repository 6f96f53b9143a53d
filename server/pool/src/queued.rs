//! Requests that wait for a worker.

use crate::arrived::Owed;
use crate::script::Script;
use crate::worker::Tries;
use rustix::fd::OwnedFd;
use std::time::{Duration, Instant};

/// A request without a worker, as the frame that its worker will get.
pub(crate) struct Queued {
    pub owed: Owed,
    pub request_id: u64,
    pub script: Option<Script>,
    pub frame: Vec<u8>,
    pub body_file: Option<OwnedFd>,
    pub timeout: Duration,
    pub since: Instant,
    pub tries: Tries,
}

//! What the server says about one request. Times are nanoseconds of CLOCK_MONOTONIC.

use serde::Deserialize;

#[derive(Debug, Clone, Default, Deserialize)]
pub struct Timeline {
    pub request_id: u64,
    pub method: String,
    /// Path and query as sent.
    pub target: String,
    pub client: String,
    pub status: u16,
    pub began: u64,
    pub front: Vec<FrontPart>,
    pub queued: Vec<QueueWait>,
    pub perl: Vec<PerlPart>,
    /// The number of parts that the server did not keep.
    pub left_out: u64,
}

/// A part of the front. It begins where the part before it ends.
#[derive(Debug, Clone, Deserialize)]
pub struct FrontPart {
    pub name: String,
    pub until: u64,
    /// Whether the front waits for a worker, a program or a back end.
    pub waits: bool,
}

/// The time from giving a request to the pool until a worker got it.
#[derive(Debug, Clone, Deserialize)]
pub struct QueueWait {
    pub from: u64,
    /// 0: no worker has got the request.
    pub until: u64,
    pub worker: u32,
}

/// A part that a worker has reported.
#[derive(Debug, Clone, Deserialize)]
pub struct PerlPart {
    pub kind: String,
    pub name: String,
    pub from: u64,
    pub until: u64,
    /// The time of `count` calls together.
    pub busy: u64,
    pub count: u32,
    pub rows: Option<u64>,
    pub pid: u32,
}

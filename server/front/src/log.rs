//! What the front tells the logs. Neither call may wait for a disk.

use mehari_config::LogLevel;
use std::time::SystemTime;

/// One answered request. Bytes are as the client sent them: whoever prints them escapes them.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The client's address, without a port.
    pub remote: &'a [u8],
    /// The authenticated user.
    pub user: Option<&'a [u8]>,
    /// When the request arrived.
    pub time: SystemTime,
    /// Empty: there was no readable request line.
    pub method: &'a [u8],
    /// As sent: path and query.
    pub target: &'a [u8],
    /// `HTTP/1.1`
    pub protocol: &'a [u8],
    pub status: u16,
    /// Body bytes sent.
    pub bytes: u64,
    pub referer: Option<&'a [u8]>,
    pub user_agent: Option<&'a [u8]>,
    pub request_id: u64,
    /// The process that ran the request's Perl.
    pub worker: Option<u32>,
    /// Microseconds the request waited for a worker.
    pub queue_us: u64,
    /// Microseconds from the request's arrival to the end of its response.
    pub total_us: u64,
}

pub trait Journal {
    fn access(&self, entry: &Entry<'_>);
    fn error(&self, level: LogLevel, request_id: Option<u64>, worker: Option<u32>, text: &str);
}

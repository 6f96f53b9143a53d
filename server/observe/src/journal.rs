//! The interface between the front and the logs. No call may wait for a disk.

use crate::{AccessEntry, LogLevel, Origin};

pub trait Journal {
    /// `host` is the number of the host that answered; 0 is the main server.
    fn access(&self, host: u32, entry: &AccessEntry<'_>);
    fn error(&self, host: u32, level: LogLevel, request: Origin, text: &str);
}

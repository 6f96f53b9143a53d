//! The interface through which the front writes to the logs. No call may wait for a disk.

use crate::{AccessEntry, LogLevel, Origin};

pub trait Journal {
    /// Records an entry in the access log. `host` is the number of the host that answered. 0 is the
    /// main server.
    fn access(&self, host: u32, entry: &AccessEntry<'_>);
    fn error(&self, host: u32, level: LogLevel, request: Origin, text: &str);

    /// Returns the last warnings and errors about a request, for a developer. A journal that keeps
    /// none returns none.
    fn said_of(&self, request: u64) -> Vec<String> {
        let _ = request;
        Vec::new()
    }
}

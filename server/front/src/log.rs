//! What the front tells the logs. Neither call may wait for a disk.

use mehari_config::LogLevel;

pub use mehari_observe::Entry;

pub trait Journal {
    fn access(&self, entry: &Entry<'_>);
    fn error(&self, level: LogLevel, request_id: Option<u64>, worker: Option<u32>, text: &str);
}

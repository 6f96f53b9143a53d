//! What the server tells about itself: access log, error log, counters.
//!
//! Filled by the front on its one thread, and by the pool; nothing here knows HTTP or Perl. Whatever
//! is written goes through a [`spool`]: the caller formats into memory, a thread of its own writes.

mod access;
pub mod bytes;
mod clock;
mod counters;
mod error;
mod escape;
mod journal;
mod latency;
mod output;
mod program;
mod sink;
mod spool;

pub use access::{AccessLog, Ending, Entry, Lookup, More};
pub use clock::{formatted as local_time, formatted_universal as universal_time};
pub use counters::Counters;
pub use error::{ErrorLog, Lines, Origin};
pub use escape::Decimal;
pub use journal::Journal;
pub use latency::Latency;
pub use mehari_config::{AccessFormat, AccessLogSettings, LogLevel, LogTarget};
pub use program::start_programs_as;

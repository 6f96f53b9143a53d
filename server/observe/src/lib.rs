//! Writes what the server reports about itself: access log, error log and counters.
//!
//! The front's thread and the pool call this crate. The crate knows nothing of HTTP and Perl. All
//! logs go through the module `spool`. The caller formats into memory, and a separate thread
//! writes.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

mod access;
pub mod bytes;
mod clock;
mod counters;
mod error;
mod escape;
pub mod export;
mod journal;
mod latency;
mod output;
mod program;
mod sink;
mod spool;
mod terminal;
pub mod trace;

pub use access::{AccessEntry, AccessLog, ConditionVariables, Ending, Lookup, More};
pub use clock::{formatted as local_time, formatted_universal as universal_time};
pub use counters::Counters;
pub use error::{ErrorGroup, ErrorLog, Lines, Origin};
pub use escape::Decimal;
pub use journal::Journal;
pub use latency::Latency;
pub use mehari_config::{AccessFormat, AccessLogSettings, LogLevel, LogTarget};
pub use program::start_programs_as;
pub use terminal::is_used as is_on_terminal;

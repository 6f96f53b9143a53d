//! Defines the record of a measured run, and computes statistics over records.
//!
//! `mehari-load` fills a [`Record`]. The commands of `mehari` save, merge, export and compare
//! records. Only the module [`session`] sends requests: it records and replays user sessions.
//! docs/reference/records.md describes the file.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

mod error;
pub mod export;
pub mod figures;
mod file;
mod latency;
mod machine;
mod merge;
mod plan;
mod points;
mod run;
pub mod session;
pub mod statistics;
mod steadiness;
mod timeline;
pub mod trust;
mod verdict;
pub mod versus;
pub mod wall_clock;

pub use error::Error;
pub use latency::{Latency, Quantile};
pub use machine::{CoreUse, GeneratorCost, Machine};
pub use merge::merge;
pub use plan::{Plan, Stage};
pub use points::Point;
pub use run::{Counts, Durations, Lag, Record, FORMAT, VERSION};
pub use timeline::{Bucket, Event, Timeline, MAXIMUM_BUCKETS};
pub use verdict::{Judgement, Reason, Verdict};

//! The record of a measured run, and the statistics over records.
//!
//! `mehari-load` fills a [`Record`]. The command line saves, merges, exports and compares records.
//! This crate knows no sockets or schedules, only numbers. docs/reference/records.md describes the
//! file.
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
pub use machine::{GeneratorCost, Machine};
pub use merge::merge;
pub use plan::{Plan, Stage};
pub use points::Point;
pub use run::{Counts, Durations, Lag, Record, FORMAT, VERSION};
pub use timeline::{Bucket, Event, Timeline, MAXIMUM_BUCKETS};
pub use verdict::{Judgement, Reason, Verdict};

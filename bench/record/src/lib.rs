//! What a measured run leaves behind, and what can be concluded from it.
//!
//! `mehari-load` fills a [`Record`]; the command line saves, merges, exports and compares them.
//! This crate knows nothing of sockets or schedules: it holds numbers and the statistics over them.
//! docs/records.md describes the file.

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

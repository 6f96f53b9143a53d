//! Compares the speed of the subs of a Perl file.
//!
//! [`Timing::measure`] calls the subs in turns, each in a forked process, over many blocks. Each
//! block has a perl of its own, so that the place of code and data in memory differs. The command
//! `mehari time` chooses the files and prints the figures.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

mod driver;
mod error;
mod instructions;
mod results;
mod timing;

pub use driver::Job;
pub use error::TimeError;
pub use instructions::Counted;
pub use results::compare_results;
pub use timing::{Candidate, Clock, Difference, Effort, Timing, THRESHOLD};

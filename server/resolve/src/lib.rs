//! Makes lookups that may block: host names, home folders, and the values of `RewriteMap`.
//!
//! The front's access and rewrite phases call this crate. Other threads make the slow lookups, and
//! the answers are remembered for a while.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

pub mod maps;
pub mod names;

//! Lookups that may block: host names, home folders, and the values of `RewriteMap`.
//!
//! The front's access and rewrite phases call this crate. Other threads make the slow lookups, and
//! the answers are remembered for a while.

pub mod maps;
pub mod names;

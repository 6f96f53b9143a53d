//! Lookups that may take time: host names, home folders, and the values of `RewriteMap`.
//!
//! The front's access and rewrite phases ask. Every slow question is asked on another thread and its
//! answer is remembered for a while.

pub mod maps;
pub mod names;

//! Handles connections before the first byte of HTTP: listening sockets, TLS, the PROXY protocol,
//! deadlines.
//!
//! The front's accept loop and codecs use this crate. The crate also holds what all connections
//! share: the clock, the buffer pool, and the threads for blocking and for costly work.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

pub mod address;
pub mod blocking_pool;
pub mod buffer_pool;
pub mod clock;
pub mod compute_threads;
pub mod deadline;
mod peer;
pub mod proxied;
pub mod readiness;
pub mod socket;
pub mod tls;

pub use peer::{ConnectionTimes, Peer};

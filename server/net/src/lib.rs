//! Connections before a byte of HTTP is read: listening sockets, TLS, the PROXY protocol, deadlines.
//!
//! The front's accept loop and its codecs use this crate. It also holds what every connection shares:
//! the clock, buffers that are used again, and the threads that blocking work is lent to.

pub mod address;
pub mod blocking_pool;
pub mod buffer_pool;
pub mod clock;
pub mod deadline;
mod peer;
pub mod proxied;
pub mod socket;
pub mod tls;
pub mod watched;

pub use peer::Peer;

//! HTTP/1.0 and 1.1. The connection loop is our own, because each of its bytes costs time in every
//! request.

mod body;
mod client;
mod connection;
mod file;
mod input;
mod output;
mod receive;
mod reply;
mod send;
mod tunnel;

pub use connection::{Connection, ConnectionEnd, Takeover};
pub use receive::{LINGER, LINGER_BYTES};

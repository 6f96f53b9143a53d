//! HTTP/1.0 and 1.1: our own connection loop, because every byte of it is paid for each request.

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

pub use connection::{Connection, Ended, Takeover};
pub use receive::{LINGER, LINGER_BYTES};

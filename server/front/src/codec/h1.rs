//! Serves HTTP/1.0 and HTTP/1.1. The connection loop is our own: hyper accepts malformed requests
//! that we refuse, and hyper builds a header map for every request.

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

//! HTTP/1.0 and 1.1: a connection's own loop, written out because every byte of it is paid for each request.

mod answer;
mod at_once;
mod body;
pub mod chunked;
mod connection;
mod file;
mod framing;
pub mod head;
mod input;
mod output;
mod program;
mod receive;
pub(crate) mod reply;
pub mod scan;
mod send;
mod stream;
mod tunnel;

pub use connection::{Connection, Ended, Takeover};
pub use receive::{LINGER, LINGER_BYTES};
pub use reply::push_number;

//! HTTP/1.0 and 1.1: a connection's own loop, written out because every byte of it is paid for each request.

mod body;
mod client;
mod connection;
mod file;
mod input;
mod output;
mod receive;
pub(crate) mod reply;
mod send;
mod tunnel;

pub use mehari_http::http1::{chunked, head, scan};

pub use connection::{Connection, Ended, Takeover};
pub use receive::{LINGER, LINGER_BYTES};
pub use reply::push_number;

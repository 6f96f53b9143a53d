//! HTTP/1.0 and 1.1: a connection's own loop, written out because every byte of it is paid for each request.

mod answer;
mod at_once;
mod body;
mod connection;
mod file;
mod input;
mod output;
mod program;
mod receive;
pub(crate) mod reply;
mod send;
mod stream;
mod tunnel;

pub use mehari_http::http1::{chunked, head, scan};

pub use connection::{Connection, Ended, Takeover};
pub use receive::{LINGER, LINGER_BYTES};
pub use reply::push_number;

//! Reads and writes the syntax of FastCGI 1.0: records, and the pairs of names and values in them.
//! No I/O.
//!
//! The front uses this crate to speak to responders. The Lua pool uses it to answer as a responder.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

mod pair;
mod record;

pub use pair::{pairs, push_pair};
pub use record::{
    header, push, push_begin, push_end, push_header, push_stream, Header, BEGIN_REQUEST,
    END_REQUEST, HEADER, LARGEST, PARAMS, REQUEST, STDERR, STDIN, STDOUT,
};

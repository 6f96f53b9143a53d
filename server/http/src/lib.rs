//! Reads and writes the syntax of HTTP messages: functions over bytes, without sockets, files or
//! waiting.
//!
//! The front's codecs and handlers call this crate. So do the readers of script output and of back
//! ends' responses. The callers decide what a message means to the server.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

pub mod accept;
pub mod condition;
pub mod header_block;
pub mod host;
pub mod http1;
pub mod name_lengths;
pub mod negotiation;
pub mod path;
pub mod problem;
pub mod range;
pub mod status;
pub mod target;
pub mod token;
pub mod trace_context;

/// A field line: the name and the value as sent.
pub type Field<'a> = (&'a [u8], &'a [u8]);

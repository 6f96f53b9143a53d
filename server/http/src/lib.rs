//! The syntax of HTTP messages: functions over bytes, without sockets, files or waiting.
//!
//! The front's codecs and handlers call this crate, and so does whatever else reads or writes HTTP
//! (script output, back ends). What a message means to this server is decided by the callers.

pub mod accept;
pub mod http1;
pub mod lines;
pub mod path;
pub mod problem;
pub mod status;
pub mod target;
pub mod token;

/// A field line: name and value, as sent.
pub type Field<'a> = (&'a [u8], &'a [u8]);

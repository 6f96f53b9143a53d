//! The clients' protocols: framing, flow control, and the special features of each.
//!
//! A codec reads a request and passes it to `pipeline`, which knows no protocol.

pub mod h1;
pub mod h2;
mod pace;

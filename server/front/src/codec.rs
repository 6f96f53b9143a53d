//! Implements the clients' protocols, HTTP/1 and HTTP/2: framing, flow control, and what only one
//! protocol has. `server` starts a codec for each connection.
//!
//! A codec reads a request and passes it to `pipeline`, which knows no protocol.

mod body_pace;
pub mod h1;
pub mod h2;

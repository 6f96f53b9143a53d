//! What answers a request: one module a way.

pub mod cgi;

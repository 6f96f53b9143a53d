//! Reads the bytes of HTTP/1.0 and 1.1: the end of a head, its content, and the framing of the body
//! (RFC 9112).

pub mod chunked;
pub mod framing;
pub mod head;
pub mod scan;

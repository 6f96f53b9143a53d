//! HTTP/1.0 and 1.1 as bytes: where a head ends, what it says, how its body is delimited (RFC 9112).

pub mod chunked;
pub mod framing;
pub mod head;
pub mod scan;

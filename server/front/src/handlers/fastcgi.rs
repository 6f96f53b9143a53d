//! FastCGI 1.0, the web server's side: makes records and parameters, and reads responses.
//!
//! A connection carries one request at a time, with id 1. `FCGI_KEEP_CONN` keeps the connection for
//! the next request.

mod params;
mod reply;
pub mod request;

pub use reply::Reply;

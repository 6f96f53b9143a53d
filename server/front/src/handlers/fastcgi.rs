//! FastCGI 1.0, the server's side: records, parameters, responses.
//!
//! One request per connection at a time, with id 1. `FCGI_KEEP_CONN` keeps the connection for the
//! next.

mod params;
mod reply;
pub mod request;

pub use reply::Reply;

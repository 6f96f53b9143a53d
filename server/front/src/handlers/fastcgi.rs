//! FastCGI 1.0 as the server's side speaks it: records, parameters, and the answer in records.
//!
//! One request a connection at a time, its id 1; `FCGI_KEEP_CONN` keeps the connection for the next.

mod params;
mod reply;
pub mod request;

pub use reply::Reply;

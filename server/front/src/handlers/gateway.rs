//! SCGI and uwsgi: a request is a block of CGI's variables and its body, an answer what a CGI program prints. A
//! connection is for one request.

mod reply;
mod request;
pub mod variables;

pub use reply::Reply;
pub use request::{scgi, uwsgi};

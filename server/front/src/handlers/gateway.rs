//! SCGI and uwsgi. A request is a block of CGI's variables and a body. A response has the form of a
//! CGI program's output. A connection carries one request.

mod reply;
mod request;
pub mod variables;

pub use reply::Reply;
pub use request::{scgi, uwsgi};

//! SCGI and uwsgi: a request is a block of CGI's variables and a body, and a response is the output
//! of a CGI program. A connection carries one request.

mod reply;
mod request;
pub mod variables;

pub use reply::Reply;
pub use request::{scgi, uwsgi};

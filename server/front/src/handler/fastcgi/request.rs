//! A request as parameters: CGI's variables, and the few that PHP looks for besides.

use super::record::{self, Params};
use crate::handler::cgi::Cgi;
use crate::handler::gateway::variables;
use crate::request::Request;
use crate::route::Route;
use mehari_config::Site;
use mehari_pool::Body;

/// The records before the body.
pub fn begin(
    request: &Request<'_>,
    route: &Route,
    site: &Site,
    body: &Body<'_>,
    cgi: &Cgi,
) -> Vec<u8> {
    let mut records = Vec::with_capacity(2048);
    record::push_begin(&mut records);
    let mut params = Params::behind(records);
    variables::each(request, route, site, cgi, &mut |name, value| {
        params.push(name, value)
    });
    let length = variables::length(body).to_string();
    params.push(b"CONTENT_LENGTH", length.as_bytes());
    // php-cgi refuses to work unless it is told that a server sent it.
    if request.redirect.is_none() {
        params.push(b"REDIRECT_STATUS", b"200");
    }
    params.finish()
}

//! A request as parameters: CGI's variables, and the few that PHP looks for besides.

use super::record::{self, Params};
use crate::handler::cgi::Cgi;
use crate::handler::perl::with_call;
use crate::request::Request;
use crate::route::Route;
use mehari_config::Site;
use mehari_pool::{variables, Body};

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
    // The body itself is not the call's here; only its length is a variable.
    with_call(request, route, site, Body::Empty, |call| {
        let admin = site
            .host(route.host)
            .server_admin
            .as_deref()
            .map(str::as_bytes);
        let around = cgi.surroundings(admin);
        variables::each(&call, &around, &mut |name, value| {
            if name != b"CONTENT_LENGTH" {
                params.push(name, value);
            }
        });
    });
    let length = match body {
        Body::Empty => 0,
        Body::Memory(bytes) => bytes.len() as u64,
        Body::File(_, length) => *length,
    };
    params.push(b"CONTENT_LENGTH", length.to_string().as_bytes());
    // php-cgi refuses to work unless it is told that a server sent it.
    if request.redirect.is_none() {
        params.push(b"REDIRECT_STATUS", b"200");
    }
    params.finish()
}

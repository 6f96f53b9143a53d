//! Writes a request as FastCGI parameters: CGI's variables, and further variables for PHP.

use super::params::Params;
use crate::handlers::cgi::Cgi;
use crate::handlers::gateway::variables;
use crate::request::Request;
use crate::routing::Route;
use mehari_config::Site;
use mehari_fastcgi as record;
use mehari_net::buffer_pool::Buffer;
use mehari_observe::Decimal;
use mehari_pool::Body;

/// Returns the records that precede the body.
pub fn begin(
    request: &Request<'_>,
    route: &Route,
    site: &Site,
    body: &Body<'_>,
    cgi: &Cgi,
) -> Buffer {
    let mut records = Buffer::with_room();
    record::push_begin(&mut records);
    let mut params = Params::behind(records);
    variables::each(request, route, site, cgi, &mut |name, value| {
        params.push(name, value)
    });
    let length = Decimal::new(variables::length(body));
    params.push(b"CONTENT_LENGTH", length.text());
    // php-cgi works only if it knows that a server sent the request.
    if request.redirect.is_none() {
        params.push(b"REDIRECT_STATUS", b"200");
    }
    params.finish()
}

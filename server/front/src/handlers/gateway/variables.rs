//! Lists the variables of a request for programs behind FastCGI, SCGI or uwsgi.

use crate::handlers::cgi::Cgi;
use crate::handlers::perl::with_call;
use crate::request::Request;
use crate::routing::Route;
use mehari_config::Site;
use mehari_pool::{variables, Body};

/// Calls `add` with every name and value except CONTENT_LENGTH. The caller writes CONTENT_LENGTH,
/// because each protocol defines its position.
pub fn each(
    request: &Request<'_>,
    route: &Route,
    site: &Site,
    cgi: &Cgi,
    add: &mut dyn FnMut(&[u8], &[u8]),
) {
    // The call has no body here. The caller knows the body's length.
    with_call(request, route, site, Body::Empty, |call| {
        let host = site.host(route.host);
        let mut around = cgi.surroundings(host.server_admin.as_deref().map(str::as_bytes));
        // `with_call` omits the user where Perl's phases run. Here these phases are over.
        if let Some(state) = request.rule_state.filter(|_| route.settings.runs_phases()) {
            (around.user, around.auth_type) =
                (state.identity.user_name(), state.identity.auth_type());
        }
        variables::each(&call, &around, &mut |name, value| {
            if name != b"CONTENT_LENGTH" {
                add(name, value);
            }
        });
    });
}

pub fn length(body: &Body<'_>) -> u64 {
    match body {
        Body::Empty => 0,
        Body::Memory(bytes) => bytes.len() as u64,
        Body::File(_, length) => *length,
    }
}

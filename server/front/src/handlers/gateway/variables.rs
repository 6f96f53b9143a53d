//! A request as the variables that programs behind a protocol of their own are given.

use crate::handlers::cgi::Cgi;
use crate::handlers::perl::with_call;
use crate::request::Request;
use crate::routing::Route;
use mehari_config::Site;
use mehari_pool::{variables, Body};

/// Calls `add` with every name and value but CONTENT_LENGTH, whose place the protocols say.
pub fn each(
    request: &Request<'_>,
    route: &Route,
    site: &Site,
    cgi: &Cgi,
    add: &mut dyn FnMut(&[u8], &[u8]),
) {
    // The body itself is not the call's here; only its length is a variable.
    with_call(request, route, site, Body::Empty, |call| {
        let host = site.host(route.host);
        let mut around = cgi.surroundings(host.server_admin.as_deref().map(str::as_bytes));
        // The call leaves the user to Perl's phases, and they are over.
        if let Some(state) = request.rule_state.filter(|_| route.settings.runs_phases()) {
            (around.user, around.auth_type) = (state.user_name(), state.auth_type());
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

//! Resolves a path for Perl's handlers within a request: for `$r->lookup_uri`, for a
//! PerlTransHandler that has changed the URI, and for an internal redirect in the worker.

use crate::handlers::perl;
use crate::pipeline::rules::{self, Evaluation};
use crate::request::rule_state::{Destination, MappingState, RuleState};
use crate::request::virtual_root;
use crate::request::{Fields, Peer, Protocol, Request};
use crate::routing::{self, Route};
use crate::shared::Shared;
use mehari_config::Site;
use mehari_http::path::Path;
use mehari_net::address::Address;
use mehari_pool::{Body, Call, PerlSettings, SubrequestQuestion};
use std::net::IpAddr;
use std::rc::Rc;

/// Gives `give` the call that a request for this target with this method would be. The request's
/// fields are left empty, because the worker knows them. If the rules refuse the request, the call
/// has an access status.
pub fn answer(shared: &Shared, question: SubrequestQuestion<'_>, give: &mut dyn FnMut(Call<'_>)) {
    let site = shared.site();
    let address = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.parse::<IpAddr>().ok();
    let server_ip = address(question.asker.server_addr);
    let peer = Peer {
        remote_addr: address(question.asker.remote_addr)
            .map_or_else(Address::default, Address::from),
        server_addr: server_ip.map_or_else(Address::default, Address::from),
        server_ip,
        server_port: question.asker.server_port,
        ..Peer::default()
    };
    let fields = question.asker.fields.iter();
    let host = fields
        .clone()
        .find(|(name, _)| name.eq_ignore_ascii_case(b"host"));
    let mut request = Request {
        method: question.method,
        asked_method: question.asker.method,
        target: question.target,
        resource: question.target,
        redirect: None,
        protocol: Protocol::Http11,
        fields: Fields::List(&question.asker.fields),
        host: host.map_or(b"", |(_, value)| *value),
        virtual_host: question.server,
        peer: &peer,
        rule_state: None,
        id: 0,
        trace: None,
    };
    let mut state = question.file.map(|file| {
        let mut state = Box::<RuleState>::default();
        state.mapping.destination = Some(Destination::File(file.to_vec()));
        state
    });
    if state.is_none() {
        state = virtual_state(shared, &site, &request);
    }
    let nothing = MappingState::default();
    let mapping = state.as_ref().map_or(&nothing, |state| &state.mapping);
    let found = routing::find_for(&site, &shared.routing.htaccess, &request, mapping, None);
    let Ok(found) = found.map(Rc::new) else {
        return;
    };
    let looked = rules::evaluate_subrequest(shared, &request, found, &mut state);
    if let Ok((route, status)) = looked {
        request.rule_state = state.as_deref();
        give_call(&request, &route, &site, status, give);
    }
}

/// Returns what is known of a path that an alias of its section maps, or that is in a folder named
/// after the host.
fn virtual_state(shared: &Shared, site: &Site, request: &Request<'_>) -> Option<Box<RuleState>> {
    let path = Path::decode(request.path()).ok()?;
    let host = site.host(request.virtual_host);
    let mut aliased = None;
    let evaluation = Evaluation::new(shared, request, site);
    if evaluation.map_at_place(&path, &mut aliased).ok()? {
        return aliased;
    }
    let mapped = virtual_root::map(host, request, &path.merged).ok()??;
    let mut state = Box::<RuleState>::default();
    state.mapping.take_virtual(mapped);
    Some(state)
}

fn give_call(
    request: &Request<'_>,
    route: &Route,
    site: &Site,
    access_status: u16,
    give: &mut dyn FnMut(Call<'_>),
) {
    let request = Request {
        fields: Fields::NONE,
        ..*request
    };
    perl::with_call(&request, route, site, Body::Empty, |mut call| {
        perl::leave_program(&mut call);
        if access_status != 0 {
            call.access.status = access_status;
            // The front has not prepared what Perl's handlers need, so no handler may run for the
            // refused request.
            if route.settings.runs_phases() {
                call.settings = PerlSettings::default();
            }
        }
        give(call);
    });
}

//! Resolves a path for Perl's handlers within a request: for `$r->lookup_uri`, for a
//! PerlTransHandler that has changed the URI, and for an internal redirect in the worker.

use crate::handlers::perl;
use crate::pipeline::access::challenge;
use crate::pipeline::rules::{self, Evaluation};
use crate::request::rule_state::{Destination, MappingState, RuleState, User};
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

/// Gives `give` the call that a request for this target with this method would be. As in Apache,
/// the rules see the fields and variables as the handlers of the asking request have left them. The
/// request's fields are left empty in the call, because the worker knows them. If the rules refuse
/// the request, the call has an access status.
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
    let news = question.news;
    let changed = news.changes.fields.as_deref().map(Fields::Owned);
    let fields = changed.unwrap_or(Fields::List(&question.asker.fields));
    let mut request = Request {
        method: question.method,
        asked_method: question.asker.method,
        target: question.target,
        resource: question.target,
        redirect: None,
        protocol: Protocol::Http11,
        fields,
        host: fields.get("host").unwrap_or_default(),
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
    let inherited = news.changes.variables;
    if !inherited.is_empty() || news.user.is_some() {
        let state = state.get_or_insert_with(Default::default);
        let user = news.user.map(|named| User::named(named, &found.settings));
        state.identity.user = user;
        state.inherited = inherited;
    }
    let looked = rules::evaluate_subrequest(shared, &request, found, &mut state);
    if let Ok((route, status)) = looked {
        let state = state.as_deref();
        request.rule_state = state;
        let said = &route.settings.rules.authentication;
        let refusal = Refused {
            status,
            challenge: match status {
                401 => challenge(
                    shared,
                    said,
                    state.is_some_and(|state| state.identity.stale),
                ),
                _ => String::new(),
            },
        };
        give_call(&request, &route, &site, &refusal, give);
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

/// The refusal of a request within a request. Status 0: the request is not refused.
struct Refused {
    status: u16,
    /// The header lines that request authentication.
    challenge: String,
}

fn give_call(
    request: &Request<'_>,
    route: &Route,
    site: &Site,
    refused: &Refused,
    give: &mut dyn FnMut(Call<'_>),
) {
    let request = Request {
        fields: Fields::NONE,
        ..*request
    };
    perl::with_call(&request, route, site, Body::Empty, |call| {
        // The call may now borrow from the refusal.
        let mut call = call;
        perl::leave_program(&mut call);
        if refused.status != 0 {
            call.access.status = refused.status;
            call.access.challenge = refused.challenge.as_bytes();
            // The front has not prepared what Perl's handlers need, so no handler may run for the
            // refused request.
            if route.settings.runs_phases() {
                call.settings = PerlSettings::default();
            }
        }
        give(call);
    });
}

//! Resolves a path for Perl's handlers within a request: for `$r->lookup_uri`, for a
//! PerlTransHandler that has changed the URI, and for an internal redirect in the worker.

mod lookups;
mod pages;

use crate::handlers::perl;
use crate::pipeline::access::challenge;
use crate::pipeline::rules::{self, Decision, Evaluation};
use crate::pipeline::start::moved;
use crate::request::rule_state::{Destination, MappingState, RuleState, Stage, User};
use crate::request::virtual_root;
use crate::request::{Fields, Peer, Protocol, Request, REDIRECTS};
use crate::routing::{self, Route, RouteOutcome, ENCODED_SLASH};
use crate::shared::Shared;
use lookups::MapLookup;
use mehari_config::Site;
use mehari_http::path::{Path, UNUSUAL_BYTES};
use mehari_http::problem::Problem;
use mehari_net::address::Address;
use mehari_pool::{Asker, Body, Call, Origin, PerlSettings, SubrequestQuestion};
use std::net::IpAddr;
use std::rc::Rc;

pub use lookups::{resolver, MapAnswers};
pub use pages::page_renderer;

/// Gives `give` the call that a request for this target with this method would be. As in Apache,
/// the rules see the fields and variables as the handlers of the asking request have left them. The
/// request's fields are left empty in the call, because the worker knows them. If the rules refuse
/// the request, the call has an access status. If the rules need a program's answer, the function
/// gives nothing and returns the lookup.
pub fn answer(
    shared: &Shared,
    question: SubrequestQuestion<'_>,
    answers: &MapAnswers,
    give: &mut dyn FnMut(Call<'_>),
) -> Option<MapLookup> {
    let site = shared.site();
    let peer = peer_of(&question.asker);
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
    let is_within = news.origin == Origin::Within;
    let (inherited, method) = (news.changes.variables, news.changes.method);
    let is_known = !inherited.is_empty() || is_within || method.numbered.is_some();
    let has_asked = !answers.known().is_empty();
    let mut state = (is_known || has_asked).then(Box::<RuleState>::default);
    if let Some(state) = &mut state {
        state.looked_up = answers.known().to_vec();
        state.inherited = inherited;
        state.method.numbered = method.numbered;
        state.is_within = is_within;
    }
    let mut target = question.target.to_vec();
    let mut refusal = None;
    if let Some(file) = question.file {
        let state = state.get_or_insert_with(Default::default);
        state.mapping.destination = Some(Destination::File(file.to_vec()));
    } else if news.origin == Origin::Same || site.host(question.server).rules.is_empty() {
        state = virtual_state(shared, &site, &request, state);
    } else {
        let decision = translate(shared, &site, &request, &mut target, &mut state);
        let decision =
            decision.unwrap_or_else(|problem| Some(Decision::Status(None, problem.status)));
        let lookup = decision
            .as_ref()
            .and_then(|decision| MapLookup::of(&request, &site, decision));
        if lookup.is_some() && answers.may_grow() {
            return lookup;
        }
        refusal = decision.map(refused_by);
    }
    request.resource = &target;
    let nothing = MappingState::default();
    let mapping = state.as_ref().map_or(&nothing, |state| &state.mapping);
    let found = routing::find_for(&site, &shared.routing.htaccess, &request, mapping, None);
    let mut found = match found {
        Ok(found) => found,
        Err(mut problem) => {
            // As in Apache, such a file is missing.
            if UNUSUAL_BYTES.contains(&problem) {
                problem.status = 404;
            }
            let refused = Refused {
                status: problem.status,
                lines: Vec::new(),
            };
            let route = routing::unfound(&site, question.server, problem);
            give_call(&request, &route, &site, &refused, give);
            return None;
        }
    };
    if let Some(proxied) = mapping.back_end() {
        found = routing::to_back_end(&site, &request, &found, proxied);
    }
    let found = Rc::new(found);
    if let Some(refusal) = refusal {
        request.rule_state = state.as_deref();
        give_call(&request, &found, &site, &refusal, give);
        return None;
    }
    if let Some(named) = news.user {
        let user = User::named(named, &found.settings);
        state.get_or_insert_with(Default::default).identity.user = Some(user);
    }
    let is_same = news.origin == Origin::Same;
    let looked = rules::evaluate_subrequest(shared, &request, found, &mut state, is_same);
    if let Ok((route, status)) = looked {
        let state = state.as_deref();
        request.rule_state = state;
        let said = &route.settings.rules.authentication;
        // The request itself is not refused here: the front responds when the handlers have run.
        let refusal = match (status, &route.outcome) {
            (0, RouteOutcome::Moved(folder)) if !is_same => {
                let answer = moved(&request, &site, folder);
                Refused {
                    status: answer.status,
                    lines: answer.lines().concat(),
                }
            }
            (0, RouteOutcome::Refused(problem)) if !is_same && *problem == ENCODED_SLASH => {
                Refused {
                    status: problem.status,
                    lines: Vec::new(),
                }
            }
            (401, _) => {
                let is_stale = state.is_some_and(|state| state.identity.stale);
                Refused {
                    status,
                    lines: challenge(shared, said, is_stale).into_bytes(),
                }
            }
            _ => Refused {
                status,
                lines: Vec::new(),
            },
        };
        give_call(&request, &route, &site, &refusal, give);
    }
    None
}

fn peer_of(asker: &Asker<'_>) -> Peer {
    let address = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.parse::<IpAddr>().ok();
    let server_ip = address(asker.server_addr);
    Peer {
        remote_addr: address(asker.remote_addr).map_or_else(Address::default, Address::from),
        server_addr: server_ip.map_or_else(Address::default, Address::from),
        server_ip,
        server_port: asker.server_port,
        ..Peer::default()
    }
}

/// Notes in the state what is known of a path that an alias of its section maps, or that is in a
/// folder named after the host.
fn virtual_state(
    shared: &Shared,
    site: &Site,
    request: &Request<'_>,
    mut state: Option<Box<RuleState>>,
) -> Option<Box<RuleState>> {
    let Ok(path) = Path::decode(request.path()) else {
        return state;
    };
    let host = site.host(request.virtual_host);
    let evaluation = Evaluation::new(shared, request, site);
    match evaluation.map_at_place(&path, &mut state) {
        Ok(false) => {}
        _ => return state,
    }
    if let Ok(Some(mapped)) = virtual_root::map(host, request, &path.merged) {
        let state = state.get_or_insert_with(Default::default);
        state.mapping.take_virtual(mapped);
    }
    state
}

/// The refusal of a request within a request. Status 0: the request is not refused.
struct Refused {
    status: u16,
    /// The header lines that request authentication, or those of a redirect.
    lines: Vec<u8>,
}

/// Applies the rules of the server to the path of a sub-request or an internal redirect. As in
/// Apache, `SetEnvIf` of the server is not for sub-requests, which have the variables of the
/// request within which they are made. `None`: the request goes on with the target.
fn translate(
    shared: &Shared,
    site: &Site,
    request: &Request<'_>,
    target: &mut Vec<u8>,
    state: &mut Option<Box<RuleState>>,
) -> Result<Option<Decision>, Problem> {
    for _ in 0..REDIRECTS {
        let asked = Request {
            resource: &target.clone(),
            ..*request
        };
        let evaluation = Evaluation {
            may_wait: false,
            ..Evaluation::new(shared, &asked, site)
        };
        match evaluation.rewrite(state, Stage::Server)? {
            Some(Decision::Led(to)) => *target = to.target,
            decision => return Ok(decision),
        }
    }
    Ok(Some(Decision::Status(None, 500)))
}

/// Returns the refusal of a request by the rules of the server. Rules whose `RewriteMap` program
/// has not answered refuse the request.
fn refused_by(decision: Decision) -> Refused {
    let (status, lines) = match decision {
        Decision::Status(_, status) => (status, Vec::new()),
        Decision::Answer(_, answer) => (answer.status, answer.lines().concat()),
        Decision::Needs(_) | Decision::To(_) | Decision::Led(_) => (500, Vec::new()),
    };
    Refused { status, lines }
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
            call.access.challenge = &refused.lines;
            // The front has not prepared what Perl's handlers need, so no handler may run for the
            // refused request.
            if route.settings.runs_phases() {
                call.settings = PerlSettings::default();
            }
        }
        give(call);
    });
}

//! Resolves a path for Perl's handlers within a request: for `$r->lookup_uri`, for a
//! PerlTransHandler that has changed the URI, and for an internal redirect in the worker.

mod lookups;
mod pages;
mod responses;
mod steps;

use crate::handlers::perl;
use crate::pipeline::access::challenge;
use crate::pipeline::rules::{self, Decision, Evaluation, Placed};
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
use mehari_pool::{
    Asker, Body, Call, Origin, PageRenderer, PerlSettings, SubrequestQuestion, Task,
};
use std::net::IpAddr;
use std::rc::{Rc, Weak};

pub use lookups::{resolver, MapAnswers};

/// Returns what begins the pages of workers while the front lives.
pub fn page_renderer(shared: Weak<Shared>) -> PageRenderer {
    let other = shared.clone();
    PageRenderer::new(
        move |question| pages::begin(&shared.upgrade()?, question, None),
        move |question| Some(responses::begin(&other.upgrade()?, question)),
    )
}

/// A path about which a worker has asked, with the decision of the rules.
pub struct Resolved<'a> {
    pub request: Request<'a>,
    /// The path and query in question.
    pub target: &'a [u8],
    pub route: &'a Rc<Route>,
    pub verdict: Verdict,
}

/// What responds at the path.
pub enum Verdict {
    /// What the route leads to.
    Open,
    /// Nothing: the rules refuse or redirect the request.
    Refused(Refused),
    /// Another path, as after an internal redirect: path and query.
    Led(Vec<u8>),
}

impl Verdict {
    fn refused(status: u16) -> Verdict {
        Verdict::Refused(Refused {
            status,
            lines: Vec::new(),
        })
    }
}

/// The refusal of a request within a request.
pub struct Refused {
    pub status: u16,
    /// The header lines that request authentication, or those of a redirect.
    pub lines: Vec<u8>,
}

/// Gives `give` the call that a request for this target with this method would be. The request's
/// fields are left empty in the call, because the worker knows them. If the rules refuse the
/// request, the call has an access status. If the rules need a program's answer, the function gives
/// nothing and returns the lookup.
pub fn answer(
    shared: &Shared,
    question: SubrequestQuestion<'_>,
    answers: &MapAnswers,
    give: &mut dyn FnMut(Call<'_>),
) -> Option<MapLookup> {
    let origin = question.news.origin;
    resolve(shared, question, answers, &mut |resolved| {
        give_call(shared, &resolved, origin, give);
    })
}

/// Gives `with` the request that the question is about. As in Apache, the rules see the fields and
/// variables as the handlers of the asking request have left them.
fn resolve(
    shared: &Shared,
    question: SubrequestQuestion<'_>,
    answers: &MapAnswers,
    with: &mut dyn FnMut(Resolved<'_>),
) -> Option<MapLookup> {
    let site = shared.site();
    let peer = peer_of(&question.asker);
    let news = question.news;
    let changed = news.changes.fields.as_deref().map(Fields::Owned);
    let fields = changed.unwrap_or(Fields::List(&question.asker.fields));
    let origin = news.origin;
    let is_within = origin.is_sub_request();
    let mut request = Request {
        method: question.method,
        asked_method: question.asker.method,
        // As in Apache, THE_REQUEST and REQUEST_URI of a sub-request are those of the client.
        target: if is_within {
            question.asker.target
        } else {
            question.target
        },
        resource: question.target,
        redirect: None,
        protocol: Protocol::Http11,
        fields,
        host: fields.get("host").unwrap_or_default(),
        virtual_host: question.server,
        peer: &peer,
        rule_state: None,
        id: question.asker.request_id,
        trace: None,
    };
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
    } else if origin == Origin::Same || site.host(question.server).rules.is_empty() {
        state = virtual_state(shared, &site, &request, state);
    } else {
        let decision = translate(shared, &site, &request, &mut target, &mut state);
        let decision =
            decision.unwrap_or_else(|problem| Some(Decision::Status(None, problem.status)));
        if let Some(Decision::Needs(need)) = &decision {
            let lookup = MapLookup::of(&request, &site, need);
            if lookup.is_some() && answers.may_grow() {
                return lookup;
            }
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
            with(Resolved {
                request,
                target: question.target,
                route: &Rc::new(routing::unfound(&site, question.server, problem)),
                verdict: Verdict::refused(problem.status),
            });
            return None;
        }
    };
    if let Some(proxied) = mapping.back_end_of_folder() {
        found = routing::to_back_end(&site, &request, &found, proxied);
    }
    let found = Rc::new(found);
    if let Some(refusal) = refusal {
        request.rule_state = state.as_deref();
        with(Resolved {
            request,
            target: question.target,
            route: &found,
            verdict: Verdict::Refused(refusal),
        });
        return None;
    }
    if let Some(named) = news.user {
        let user = User::named(named, &found.settings);
        state.get_or_insert_with(Default::default).identity.user = Some(user);
    }
    let looked = rules::evaluate_subrequest(shared, &request, found, &mut state, origin);
    let Ok((route, placed)) = looked else {
        return None;
    };
    let verdict = match placed {
        Placed::Needs(need) => {
            let lookup = MapLookup::of(&request, &site, &need);
            if lookup.is_some() && answers.may_grow() {
                return lookup;
            }
            Verdict::refused(500)
        }
        // As in Apache, `SSLRequireSSL` holds for sub-requests too.
        Placed::Here | Placed::Led(_)
            if is_within && route.settings.tls.required && question.asker.scheme != b"https" =>
        {
            Verdict::refused(403)
        }
        Placed::Here => verdict_here(&request, &site, &route, origin),
        Placed::Led(to) => Verdict::Led(to),
        Placed::Answered(answer) => Verdict::Refused(Refused {
            status: answer.status,
            lines: answer.lines().concat(),
        }),
        Placed::Refused(401) => {
            let said = &route.settings.rules.authentication;
            let is_stale = state.as_ref().is_some_and(|state| state.identity.stale);
            Verdict::Refused(Refused {
                status: 401,
                lines: challenge(shared, said, is_stale).into_bytes(),
            })
        }
        Placed::Refused(status) => Verdict::refused(status),
    };
    request.rule_state = state.as_deref();
    with(Resolved {
        request,
        target: question.target,
        route: &route,
        verdict,
    });
    None
}

/// Returns the verdict about a path that the rules leave at its route. The request itself is not
/// refused here: the front responds when the handlers have run.
fn verdict_here(request: &Request<'_>, site: &Site, route: &Route, origin: Origin) -> Verdict {
    match &route.outcome {
        RouteOutcome::Moved(folder) if origin != Origin::Same => {
            let answer = moved(request, site, folder);
            Verdict::Refused(Refused {
                status: answer.status,
                lines: answer.lines().concat(),
            })
        }
        RouteOutcome::Refused(problem) if origin != Origin::Same && *problem == ENCODED_SLASH => {
            Verdict::refused(problem.status)
        }
        _ => Verdict::Open,
    }
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
    shared: &Shared,
    resolved: &Resolved<'_>,
    origin: Origin,
    give: &mut dyn FnMut(Call<'_>),
) {
    let Resolved {
        request,
        target,
        route,
        verdict,
    } = resolved;
    let request = Request {
        target,
        fields: Fields::NONE,
        ..*request
    };
    perl::with_call(&request, route, &shared.site(), Body::Empty, |call| {
        // The call may now borrow from the verdict.
        let mut call = call;
        perl::leave_program(&mut call);
        match verdict {
            Verdict::Open if origin == Origin::Handled => call.access.status = 0,
            Verdict::Open => {}
            Verdict::Refused(refused) => {
                call.access.status = refused.status;
                call.access.challenge = &refused.lines;
                // The front has not prepared what Perl's handlers need, so no handler may run for
                // the refused request.
                if route.settings.runs_phases() {
                    call.settings = PerlSettings::default();
                }
            }
            // The worker asks what responds when it runs the sub-request.
            Verdict::Led(_) => {
                call.task = Task::Front {
                    file: &route.file,
                    is_program: false,
                    is_file: false,
                    is_plain: false,
                };
                if origin == Origin::Handled {
                    call.access.status = 0;
                }
            }
        }
        give(call);
    });
}

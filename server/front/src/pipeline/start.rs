//! Starts the handler of a routed request: an answer at once, or a program.

use crate::content::spool::Spooled;
use crate::content::{page, Answer, FileTarget};
use crate::filters::edits;
use crate::handlers::file::coded;
use crate::handlers::{cgi, console, perl, proxy, report, ssi};
use crate::handlers::{ActingTarget, Backend, HandlerOutcome, RedirectingAction};
use crate::pipeline::filter;
use crate::pipeline::included::Inside;
use crate::pipeline::listing;
use crate::pipeline::negotiate;
use crate::pipeline::rewrite::joined;
use crate::pipeline::status_page::{file_of_error, file_or_document, refusal};
use crate::request::rule_state::ClientIdentity;
use crate::request::trace::MadeParent;
use crate::request::{canonical, trace, Fields, Request};
use crate::routing::{self, MovedFolder, Route, RouteOutcome, DENIED, ENCODED_SLASH, HIDDEN};
use crate::shared::Shared;
use mehari_config::{
    Handler, LimitedResource, LogLevel, PlaceRules, Rung, Settings, Site, CONSOLE,
};
use mehari_http::problem::Problem;
use mehari_pool::Body;
use rustix::process::Resource;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

const NO_FILE: Problem = Problem::refused(404, "a folder without an index");

/// Starts the handler of a route. The request's body is complete.
pub fn begin(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    route: &Route,
    body: Body<'_>,
) -> HandlerOutcome {
    let makes_parent = route.settings.tracking.trace_parents;
    if !makes_parent && (request.trace.is_none() || is_files(route)) {
        return start_unchanged(shared, request, route, body);
    }
    // A parent is made for a request that the server does not sample. If the server exports spans
    // of other requests, back ends record none for this request either.
    let is_sampled = !shared.tracer.exports();
    let made = makes_parent.then_some(MadeParent { is_sampled });
    trace::with_own_context(request, made, |request| {
        start_unchanged(shared, request, route, body)
    })
}

/// Whether nobody but the front sees the request: its response is a file.
fn is_files(route: &Route) -> bool {
    let settings = &route.settings;
    let is_file = matches!(route.outcome, RouteOutcome::File(_));
    is_file && settings.output.includes.are_off() && !settings.runs_phases() && !route.is_filtered()
}

fn start_unchanged(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    route: &Route,
    body: Body<'_>,
) -> HandlerOutcome {
    if route.settings.tls.required && request.peer.tls.is_none() {
        return refusal(shared, request, Some(&route.settings), 403);
    }
    if route.settings.runs_phases() || route.is_filtered() {
        let kept = kept(route, &body);
        let exchange = perl::submit(&shared.backends, request, route, &shared.site(), body);
        return HandlerOutcome::Backend(Backend::Perl(exchange, kept));
    }
    start_without_perl(shared, request, route, body)
}

/// Returns a copy of the body, if a back end or a CGI program responds after Perl's handlers, or if
/// these may choose such a handler.
fn kept(route: &Route, body: &Body<'_>) -> Option<Box<Spooled>> {
    let settings = &route.settings;
    // A `RewriteRule` with [P] after Perl's handlers chooses a back end, and the rules that choose
    // the place may find a program.
    let left = settings.left_rules();
    let may_lead =
        left.place >= PlaceRules::Translation || (left.fixups && settings.rules.rewriting.is_on());
    let is_others = match route.outcome {
        RouteOutcome::Proxied(_) | RouteOutcome::Acted(_) => true,
        RouteOutcome::Program => may_lead || route.handler == Handler::Script(Rung::Cgi),
        _ => may_lead,
    };
    let is_others = is_others || settings.runs_before_response();
    is_others.then(|| copied(body)).flatten().map(Box::new)
}

fn copied(body: &Body<'_>) -> Option<Spooled> {
    match body {
        Body::Empty => None,
        Body::Memory(bytes) => Some(Spooled::Memory(bytes.to_vec())),
        Body::File(file, length) => Some(Spooled::File(file.try_clone().ok()?.into(), *length)),
    }
}

/// Starts the handler of a route. Perl's handlers of other phases do not run, or have run already.
pub fn start_without_perl(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    route: &Route,
    body: Body<'_>,
) -> HandlerOutcome {
    // An answer is large, so it is moved again only where rules may change it.
    let may_edit = !route.settings.output.substitutions.are_off();
    let is_get = matches!(request.method, b"GET" | b"HEAD");
    let done = match &route.outcome {
        RouteOutcome::Program => {
            let site = shared.site();
            match start(shared, request, route, &site, body) {
                Ok(backend) => return HandlerOutcome::Backend(backend),
                Err(problem) => Err(problem),
            }
        }
        RouteOutcome::Proxied(path) => match proxied(shared, request, route, path, body) {
            Ok(HandlerOutcome::Answer(answer)) => Ok(answer),
            Ok(outcome) => return outcome,
            Err(problem) => Err(problem),
        },
        RouteOutcome::File(target) => {
            match ssi::begin_page(shared, request, route, target, Box::new(Inside))
                .unwrap_or_else(|| file(shared, request, route, target))
            {
                Ok(HandlerOutcome::Answer(answer)) if may_edit => Ok(answer),
                Ok(work) => return work,
                Err(problem) => Err(problem),
            }
        }
        RouteOutcome::Acted(acting) => {
            let with_query = |path: Vec<u8>| joined(request, &path, request.query());
            return HandlerOutcome::Acted(Box::new(ActingTarget {
                target: with_query([&acting.program[..], &acting.file].concat()),
                action: Some(RedirectingAction {
                    from: with_query(acting.file.clone()),
                    name: acting.name.clone(),
                }),
                body: copied(&body),
            }));
        }
        RouteOutcome::Report(report) => Ok(report::answer(shared, request, *report)),
        RouteOutcome::Moved(folder) => Ok(moved(request, &shared.site(), folder)),
        RouteOutcome::Negotiated(variants) => {
            return negotiate::respond(shared, request, route, variants, Box::new(Inside))
        }
        // The rules have replaced this route by the route of the index or of the listing.
        RouteOutcome::Indexed => Err(routing::NO_INDEX),
        RouteOutcome::Listing if is_get => return listing::begin(shared, request, route),
        RouteOutcome::Listing | RouteOutcome::Refused(_) => {
            // As in Apache, only GET and HEAD ask for a listing. For other methods the folder is a
            // missing file.
            let problem = match &route.outcome {
                RouteOutcome::Refused(problem) if is_get || *problem != routing::NO_INDEX => {
                    problem
                }
                _ => &NO_FILE,
            };
            let is_missing_file = problem.status == 404
                && *problem != ENCODED_SLASH
                && route.handler == Handler::File;
            let is_first = request.error().is_none();
            match crate::handlers::file::without_content(request) {
                Some(answer) if is_missing_file && is_first => {
                    return file_or_document(shared, request, &route.settings, answer)
                }
                _ => Err(*problem),
            }
        }
    };
    let answered = |answer| filter::answered(request, &route.file, &route.settings, answer);
    done.map(answered).unwrap_or_else(|problem| {
        if let RouteOutcome::File(_) = route.outcome {
            shared.routing.routes.forget(route.host, request.path());
        }
        log_refusal(shared, request, route, problem);
        refusal(shared, request, Some(&route.settings), problem.status)
    })
}

/// Gives the request to a back end. The console's process has rules of its own.
pub fn proxied(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    route: &Route,
    path: &[u8],
    body: Body<'_>,
) -> Result<HandlerOutcome, Problem> {
    let site = shared.site();
    if matches!(&route.handler, Handler::Proxy(to) if to.upstream == CONSOLE) {
        let names = &site.host(request.virtual_host).names;
        if let Some(answer) = console::answer(request, route, names, path)? {
            return Ok(HandlerOutcome::Answer(answer));
        }
    }
    let exchange = proxy::start(shared, request, route, &site, path, body)?;
    Ok(HandlerOutcome::Backend(Backend::Proxy(Box::new(exchange))))
}

fn file(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    route: &Route,
    target: &FileTarget,
) -> Result<HandlerOutcome, Problem> {
    let is_read = matches!(request.method, b"GET" | b"HEAD" | b"POST");
    if is_read && !route.settings.output.substitutions.are_off() {
        if let Some(answer) = edited(shared, request, route, target)? {
            return Ok(HandlerOutcome::Answer(answer));
        }
    }
    match request.error() {
        None => match coded::answer(shared, request, route, target)? {
            HandlerOutcome::Answer(answer) => {
                Ok(file_or_document(shared, request, &route.settings, answer))
            }
            outcome => Ok(outcome),
        },
        Some(status) => {
            let page = file_of_error(target, &route.settings, &shared.content.files, status);
            page.map(HandlerOutcome::Answer)
        }
    }
}

/// Returns the whole file without a coding, if the rules of `Substitute` change the response.
fn edited(
    shared: &Shared,
    request: &Request<'_>,
    route: &Route,
    target: &FileTarget,
) -> Result<Option<Answer>, Problem> {
    let (settings, files) = (&route.settings, &shared.content.files);
    let resource = target.resource(None, settings, files)?;
    let status = request.error().unwrap_or(200);
    if !edits(request, &route.file, settings, status, resource.lines()) {
        return Ok(None);
    }
    if let Some(status) = request.error() {
        return file_of_error(target, settings, files, status).map(Some);
    }
    let mut fields = request.fields.to_owned();
    let is_left = |name: &[u8]| {
        let known = ["range", "if-range", "accept-encoding"];
        !known
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
    };
    fields.retain(|(name, _)| is_left(name));
    let fields = Fields::Owned(&fields);
    let request = &Request { fields, ..*request };
    let answer = crate::handlers::file::answer(request, target, settings, files)?;
    Ok(Some(answer))
}

/// Logs why a request was refused. The level depends on the status: a missing file is logged only
/// at a detailed level.
fn log_refusal(shared: &Shared, request: &Request<'_>, route: &Route, problem: Problem) {
    let level = match problem.status {
        _ if problem == HIDDEN => LogLevel::Error,
        403 => LogLevel::Error,
        404 => LogLevel::Info,
        _ => return,
    };
    let place = if route.file.is_empty() {
        request.path().to_vec()
    } else {
        [&route.file[..], &route.path_info].concat()
    };
    // The words are Apache's, because tools search for them.
    let words = if problem == DENIED {
        "client denied by server configuration"
    } else {
        problem.reason
    };
    let (target, place) = (request.target.escape_ascii(), place.escape_ascii());
    let text = format!("{target}: {words}: {place}");
    let origin = request.origin();
    shared.journal.error(route.host, level, origin, &text);
}

/// Starts a program: in the pool, or as a CGI process.
fn start(
    shared: &Shared,
    request: &Request<'_>,
    route: &Route,
    site: &Site,
    body: Body<'_>,
) -> Result<Backend, Problem> {
    if route.handler != Handler::Script(Rung::Cgi) {
        let exchange = perl::submit(&shared.backends, request, route, site, body);
        return Ok(Backend::Perl(exchange, None));
    }
    let identity = request.rule_state.map(|state| &state.identity);
    perl::with_call(request, route, site, body, |call| {
        let program = cgi::Program {
            call,
            file: Path::new(OsStr::from_bytes(&route.file)),
            admin: site
                .host(route.host)
                .server_admin
                .as_deref()
                .map(str::as_bytes),
            user: identity.and_then(ClientIdentity::user_name),
            auth_type: identity.and_then(ClientIdentity::auth_type),
            authorization: false,
            limits: limits(&route.settings),
        };
        let exchange = shared.backends.cgi.start(program);
        exchange.map(|exchange| Backend::Cgi(Box::new(exchange)))
    })
    .map_err(|error| Problem::refused(error.status(), "the CGI program could not be started"))
}

/// Returns the limits of a CGI program.
fn limits(settings: &Settings) -> Vec<cgi::ResourceLimit> {
    let limits = settings.programs.process_limits.iter();
    let translated = limits.map(|(resource, limit)| cgi::ResourceLimit {
        resource: match resource {
            LimitedResource::Cpu => Resource::Cpu,
            LimitedResource::Memory => Resource::As,
            LimitedResource::Processes => Resource::Nproc,
        },
        soft: limit.soft,
        hard: limit.hard,
    });
    translated.collect()
}

/// Returns the redirect of a folder.
pub fn moved(request: &Request<'_>, site: &Site, folder: &MovedFolder) -> Answer {
    let host = site.host(request.virtual_host);
    let mut location = canonical::absolute(request, &host.names, folder.to.clone());
    if folder.keeps_query {
        location = joined(request, &location, request.query());
    }
    page::redirect(folder.status, &location)
}

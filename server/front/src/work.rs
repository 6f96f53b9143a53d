//! What a routed request leads to: an answer at once, or a program at work. Both HTTP versions end here.

use crate::answer::{Answer, Content};
use crate::dispatch::Dispatch;
use crate::filter;
use crate::gate;
use crate::handler::file::{FileTarget, Files};
use crate::handler::{cgi, perl, proxy, Backend};
use crate::includes;
use crate::log::Origin;
use crate::page;
use crate::problem::Problem;
use crate::report;
use crate::request::{path_of, Peer, Request};
use crate::route::{self, Outcome, Route, DENIED, HIDDEN};
use crate::shared::Shared;
use crate::spool::Spooled;
use crate::trace;
use crate::traffic::{counted, Verdict};
use crate::turn::Turn;
use crate::uploads::{self, Upload};
use mehari_config::{Handler, LogLevel, Rung, Settings, Site};
use mehari_pool::Body;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

pub enum Work<D: Dispatch> {
    Answer(Answer),
    Backend(Backend<D::Exchange>),
    /// Another local target answers, and the status it is for.
    Elsewhere(Vec<u8>, u16),
}

/// Methods that no handler gets: TRACE gives away cookies, CONNECT is a proxy's.
pub fn check_method(method: &[u8]) -> Result<(), Problem> {
    match method {
        b"TRACE" => Err(Problem::malformed(405, "TRACE is not served")),
        b"CONNECT" => Err(Problem::malformed(405, "CONNECT is for proxies")),
        _ => Ok(()),
    }
}

/// A client is let in for the host it named in its TLS greeting; another one may want to see its certificate.
pub fn check_trust<D: Dispatch>(shared: &Shared<D>, peer: &Peer, host: u32) -> Result<(), Problem> {
    match &peer.tls {
        Some(session) if !session.settings.trusts_as(&shared.site().host(host).tls) => Err(
            Problem::refused(421, "the connection is for a host with other rules"),
        ),
        _ => Ok(()),
    }
}

/// What the traffic rules of its place say to a request.
pub fn admit<D: Dispatch>(
    shared: &Shared<D>,
    turn: &mut Turn,
    method: &[u8],
    peer: &Peer,
) -> Verdict {
    let rules = match &turn.settings {
        Some(settings) if !settings.traffic.is_empty() => settings.clone(),
        _ => return Verdict::Pass,
    };
    let (traffic, clock) = (&shared.traffic, &shared.clock);
    let client = turn.client(peer).remote_addr;
    let client = counted(&client, shared.site().limits.client_prefix);
    traffic.admit(&rules.traffic, method, &client, clock, &mut turn.held)
}

/// The page for a client that is to come back later.
pub fn come_back<D: Dispatch>(
    shared: &Shared<D>,
    request: &Request<'_>,
    settings: Option<&Settings>,
    (status, seconds): (u16, u64),
) -> Work<D> {
    match refusal(shared, request, settings, status) {
        // The page of a 503 says it already.
        Work::Answer(mut answer) if status != 503 => {
            let line = format!("Retry-After: {seconds}\r\n");
            answer.lines.extend_from_slice(line.as_bytes());
            Work::Answer(answer)
        }
        other => other,
    }
}

/// Keeps the progress of a request that has a body and a name for it.
pub fn track<D: Dispatch>(
    shared: &Shared<D>,
    request: &Request<'_>,
    size: u64,
) -> Option<Rc<Upload>> {
    if matches!(request.method, b"GET" | b"HEAD") {
        return None;
    }
    let id = uploads::id(request.fields.iter().copied(), request.query())?;
    shared.uploads.begin(id, size)
}

/// The answer to `OPTIONS *`.
pub fn server_options() -> Answer {
    Answer::new(200, "Allow: GET, HEAD, POST, OPTIONS\r\n")
}

/// Whether the route's handler reads request bodies; for the others a body is thrown away.
pub fn wants_body(route: &Route) -> bool {
    matches!(route.outcome, Outcome::Program | Outcome::Proxied(_)) || route.settings.runs_phases()
}

/// Starts the work. The body is complete.
pub fn begin<D: Dispatch>(
    shared: &Rc<Shared<D>>,
    request: &Request<'_>,
    route: &Route,
    body: Body<'_>,
) -> Work<D> {
    if route.settings.trace_parents && !trace::is_there(request) {
        let parent = trace::fresh(request.id);
        let fields = trace::among(request.fields, &parent);
        let fields = fields.as_slice();
        return begin_as_is(shared, &Request { fields, ..*request }, route, body);
    }
    begin_as_is(shared, request, route, body)
}

fn begin_as_is<D: Dispatch>(
    shared: &Rc<Shared<D>>,
    request: &Request<'_>,
    route: &Route,
    body: Body<'_>,
) -> Work<D> {
    if route.settings.require_tls && request.peer.tls.is_none() {
        return refusal(shared, request, Some(&route.settings), 403);
    }
    if route.settings.runs_phases() || route.is_filtered() {
        let kept = kept(route, &body);
        let exchange = perl::submit(&shared.pool, request, route, &shared.site(), body);
        return Work::Backend(Backend::Perl(exchange, kept));
    }
    by_itself(shared, request, route, body)
}

/// The same where the server led the request itself: its body is gone.
pub fn begin_elsewhere<D: Dispatch>(
    shared: &Rc<Shared<D>>,
    request: &Request<'_>,
    route: &Route,
) -> Work<D> {
    begin(shared, request, route, Body::Empty)
}

/// The body once more, where Perl's handlers only look at the request and a back end or a CGI program
/// answers it.
fn kept(route: &Route, body: &Body<'_>) -> Option<Box<Spooled>> {
    let is_others = match route.outcome {
        Outcome::Proxied(_) => true,
        Outcome::Program => route.handler == Handler::Script(Rung::Cgi),
        _ => false,
    };
    match body {
        Body::Memory(bytes) if is_others => Some(Box::new(Spooled::Memory(bytes.to_vec()))),
        Body::File(file, length) if is_others => {
            let file = file.try_clone().ok()?;
            Some(Box::new(Spooled::File(file.into(), *length)))
        }
        _ => None,
    }
}

/// What the front does with a route when no Perl handler has to be asked before.
pub fn by_itself<D: Dispatch>(
    shared: &Rc<Shared<D>>,
    request: &Request<'_>,
    route: &Route,
    body: Body<'_>,
) -> Work<D> {
    let done = match &route.outcome {
        Outcome::Program => {
            let site = shared.site();
            match start(shared, request, route, &site, body) {
                Ok(backend) => return Work::Backend(backend),
                Err(problem) => Err(problem),
            }
        }
        Outcome::Proxied(path) => {
            let site = shared.site();
            match proxy::start(shared, request, route, &site, path, body) {
                Ok(exchange) => return Work::Backend(Backend::Proxy(Box::new(exchange))),
                Err(problem) => Err(problem),
            }
        }
        Outcome::File(target) => match includes::work(shared, request, route, target)
            .unwrap_or_else(|| file(shared, request, route, target))
        {
            Ok(work) => return work,
            Err(problem) => Err(problem),
        },
        Outcome::Report(report) => Ok(report::answer(shared, request, *report)),
        Outcome::Moved(location) => {
            let site = shared.site();
            let host = site.host(request.virtual_host);
            let location = gate::absolute(request, host, location.clone());
            Ok(moved(&location, request.query()))
        }
        Outcome::Listing => route::listing(&route.file, &route.script_name),
        Outcome::Refused(problem) => Err(*problem),
    };
    done.map(Work::Answer).unwrap_or_else(|problem| {
        if let Outcome::File(_) = route.outcome {
            shared.routes.forget(route.host, request.path());
        }
        log_refusal(shared, request, route, problem);
        refusal(shared, request, Some(&route.settings), problem.status)
    })
}

fn file<D: Dispatch>(
    shared: &Rc<Shared<D>>,
    request: &Request<'_>,
    route: &Route,
    target: &FileTarget,
) -> Result<Work<D>, Problem> {
    match request.error() {
        None => match filter::file(shared, request, route, target)? {
            Work::Answer(answer) => Ok(file_or_document(shared, request, &route.settings, answer)),
            work => Ok(work),
        },
        Some(status) => {
            let page = file_of_error(target, &route.settings, &shared.files, status);
            page.map(Work::Answer)
        }
    }
}

/// A file's answer; what it refuses has its `ErrorDocument` as any other error, but for a 412, as in Apache.
pub fn file_or_document<D: Dispatch>(
    shared: &Shared<D>,
    request: &Request<'_>,
    settings: &Settings,
    answer: Answer,
) -> Work<D> {
    let refused = Some(answer.status).filter(|status| matches!(status, 405 | 416));
    let document = |status| document(shared, Some(settings), request.virtual_host, status);
    refused.and_then(document).unwrap_or(Work::Answer(answer))
}

/// Why somebody who asked for a file got none; what is merely not there is for those who want to know all.
fn log_refusal<D: Dispatch>(
    shared: &Shared<D>,
    request: &Request<'_>,
    route: &Route,
    problem: Problem,
) {
    let level = match problem.status {
        _ if problem == HIDDEN => LogLevel::Error,
        403 => LogLevel::Error,
        404 => LogLevel::Info,
        _ => return,
    };
    let place = match route.file.is_empty() {
        true => request.path(),
        false => &route.file,
    };
    // Apache's words, which tools look for.
    let words = match problem == DENIED {
        true => "client denied by server configuration",
        false => problem.reason,
    };
    let origin = Origin {
        pid: None,
        request: Some(request.id),
        worker: None,
    };
    let text = format!("{words}: {}", place.escape_ascii());
    shared.journal.error(route.host, level, origin, &text);
}

/// A program goes to the pool, or is a CGI program: a process of its own.
fn start<D: Dispatch>(
    shared: &Shared<D>,
    request: &Request<'_>,
    route: &Route,
    site: &Site,
    body: Body<'_>,
) -> Result<Backend<D::Exchange>, Problem> {
    if route.handler != Handler::Script(Rung::Cgi) {
        let exchange = perl::submit(&shared.pool, request, route, site, body);
        return Ok(Backend::Perl(exchange, None));
    }
    perl::with_call(request, route, site, body, |call| {
        let program = cgi::Program {
            call,
            file: Path::new(OsStr::from_bytes(&route.file)),
            admin: site
                .host(route.host)
                .server_admin
                .as_deref()
                .map(str::as_bytes),
            user: request.notes.and_then(|notes| notes.user_name()),
            auth_type: request.notes.and_then(|notes| notes.auth_type()),
            authorization: false,
        };
        let exchange = shared.cgi.start(program);
        exchange.map(|exchange| Backend::Cgi(Box::new(exchange)))
    })
    .map_err(|error| Problem::refused(error.status(), "the CGI program could not be started"))
}

fn moved(location: &[u8], query: &[u8]) -> Answer {
    let mut lines = b"Location: ".to_vec();
    lines.extend_from_slice(location);
    if !query.is_empty() {
        lines.push(b'?');
        lines.extend_from_slice(query);
    }
    lines.extend_from_slice(b"\r\n");
    Answer::new(301, lines)
}

/// The page of a problem, as the configuration wants it. What goes wrong on the way to an error
/// document gets the plain page of the error it is for.
pub fn refusal<D: Dispatch>(
    shared: &Shared<D>,
    request: &Request<'_>,
    settings: Option<&Settings>,
    status: u16,
) -> Work<D> {
    let (configured, status) = match request.error() {
        Some(before) => (None, before),
        None => (
            document(shared, settings, request.virtual_host, status),
            status,
        ),
    };
    configured.unwrap_or_else(|| Work::Answer(page::answer(status, request.field("accept"))))
}

/// `ErrorDocument`: an address elsewhere, a text, a local file or a local program.
fn document<D: Dispatch>(
    shared: &Shared<D>,
    settings: Option<&Settings>,
    host: u32,
    status: u16,
) -> Option<Work<D>> {
    let site = shared.site();
    let documents = &settings.unwrap_or(&site.host(host).base).error_documents;
    let (_, document) = documents.iter().find(|(known, _)| *known == status)?;
    document_work(shared, host, status, document)
}

/// What one error document is; `None`: it cannot be had.
pub fn document_work<D: Dispatch>(
    shared: &Shared<D>,
    host: u32,
    status: u16,
    document: &str,
) -> Option<Work<D>> {
    if document.starts_with("http://") || document.starts_with("https://") {
        let answer = Answer::new(302, format!("Location: {document}\r\n"));
        return Some(Work::Answer(answer));
    }
    if !document.starts_with('/') {
        let text = document.strip_prefix('"').unwrap_or(document);
        return Some(Work::Answer(page::configured(status, text)));
    }
    let route = shared
        .route(host, path_of(document.as_bytes()), false)
        .ok()?;
    let elsewhere = Some(Work::Elsewhere(document.into(), status));
    let settings = &route.settings;
    let is_free = shared.site().host(host).rules.is_empty()
        && !settings.rules.look_first()
        && route.through.is_empty();
    match &route.outcome {
        Outcome::Program | Outcome::Proxied(_) => elsewhere,
        _ if settings.runs_phases() || !is_free => elsewhere,
        Outcome::File(target) if is_parsed(shared, target, settings) => elsewhere,
        Outcome::File(target) => file_of_error(target, settings, &shared.files, status)
            .ok()
            .map(Work::Answer),
        _ => None,
    }
}

/// A page of server-side includes.
fn is_parsed<D: Dispatch>(shared: &Shared<D>, target: &FileTarget, settings: &Settings) -> bool {
    let parsed = |resource: &Rc<_>| includes::are_for(settings, resource);
    !settings.includes.are_off()
        && target
            .resource(None, settings, &shared.files)
            .is_ok_and(|resource| parsed(&resource))
}

/// A file as the page of an error: whole, and whatever the client has of it.
pub fn file_of_error(
    target: &FileTarget,
    settings: &Settings,
    files: &Files,
    status: u16,
) -> Result<Answer, Problem> {
    let resource = target.resource(None, settings, files)?;
    let media_type = resource.media_type().unwrap_or("text/html");
    let content = match resource.is_cached() {
        true => Content::Bytes(resource.body().to_vec()),
        false => Content::File(Box::new(resource.whole(files)?)),
    };
    Ok(Answer {
        status,
        lines: format!("Content-Type: {media_type}\r\n").into(),
        content,
    })
}

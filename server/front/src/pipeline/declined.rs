//! Responds to a request that Perl's handlers have left to the front, as the handlers say.
//!
//! `program` calls [`continue_declined`] for a [`Declined`] head. The handlers may have chosen
//! another file, type or status, and may have added header lines. The pool has checked the lines.

use crate::content::media;
use crate::content::spool::Spooled;
use crate::content::stat::{is_file, stat};
use crate::content::{Answer, Content, FileTarget};
use crate::handlers::{file, ssi, ActingTarget, Backend, HandlerOutcome};
use crate::pipeline::included::Inside;
use crate::pipeline::{rules, start, status_page};
use crate::request::{trace, Request};
use crate::routing::{self, Route, RouteOutcome};
use crate::shared::Shared;
use mehari_config::{Handler, PassFrom, Proxied, Rung, Settings};
use mehari_http::problem::Problem;
use mehari_http::status::has_no_body;
use mehari_pool::{Body, Declined};
use std::rc::Rc;
use std::sync::Arc;

/// The beginning of a file name that is the URL of a back end.
const PROXY: &[u8] = b"proxy:";

/// Returns the remaining work for the request.
pub fn continue_declined(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    settings: Option<&Settings>,
    declined: Declined,
    body: Option<Box<Spooled>>,
) -> HandlerOutcome {
    trace::with_own_context(request, None, |request| {
        carry_out(shared, request, settings, declined, body)
    })
}

fn carry_out(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    settings: Option<&Settings>,
    declined: Declined,
    body: Option<Box<Spooled>>,
) -> HandlerOutcome {
    let error = Some(declined.status).filter(|status| *status >= 400);
    // A part of a page moves like a redirect, because only clients' requests are moved.
    if let Some(target) = declined.target.or(declined.moved) {
        return match error {
            Some(error) => HandlerOutcome::Elsewhere(target, error),
            None => HandlerOutcome::Acted(Box::new(ActingTarget {
                target,
                action: None,
                body: body.map(|body| *body),
            })),
        };
    }
    // As in Apache, a refusal or redirect of the front keeps only the handlers' err_headers_out.
    let by_front = declined.status == 0 && declined.file.is_none();
    let work = match (declined.status, &declined.file, &declined.handler) {
        (0, Some(file), _) if file.starts_with(PROXY) => {
            to_back_end(shared, request, &file[PROXY.len()..], body)
        }
        (0, file, Some(handler)) => {
            let chosen = ChosenHandler {
                name: handler,
                file: file.as_deref(),
            };
            by_handler(shared, request, chosen, body)
        }
        (0, None, None) => as_routed(shared, request, body),
        (0, Some(_), None) if is_for_program(shared, request) => as_routed(shared, request, body),
        (0, Some(path), None) => named_file(shared, request, settings, (path, None), body),
        // The handlers may have chosen a file, also as the page of an error.
        (_, Some(path), _) => {
            let chosen = ChosenFile { path, error };
            sent_file(shared, request, settings, chosen)
        }
        (status, ..) => page(
            shared,
            request,
            settings,
            status,
            declined.document.as_deref(),
        ),
    };
    let (media_type, lines, marks) = (declined.media_type, declined.lines, declined.marks);
    let type_line = media_type.map(|media_type| {
        let charset = settings.and_then(|settings| media::default_charset(&media_type, settings));
        type_line(&media_type, charset)
    });
    let add = move |answer: &mut Answer| {
        if by_front && answer.status >= 300 && answer.status != 304 {
            add_lines(answer, &marks.surviving(&lines));
        } else {
            let type_line = type_line.filter(|_| !has_no_body(answer.status));
            add_lines(answer, type_line.as_deref().unwrap_or_default());
            add_lines(answer, &lines);
        }
    };
    match work {
        HandlerOutcome::Answer(mut answer) => {
            add(&mut answer);
            HandlerOutcome::Answer(answer)
        }
        HandlerOutcome::Backend(Backend::Answered(mut answered)) => {
            answered.change_head(add);
            HandlerOutcome::Backend(Backend::Answered(answered))
        }
        HandlerOutcome::Backend(Backend::Deferred(later)) => {
            HandlerOutcome::Backend(Backend::Deferred(Box::pin(async move {
                let mut answer = later.await?;
                add(&mut answer);
                Ok(answer)
            })))
        }
        work => work,
    }
}

/// Whether the program of an `Action` or a missing program responds. As in Apache, the request's
/// own path then counts, and not the file that Perl's handlers have named.
fn is_for_program(shared: &Rc<Shared>, request: &Request<'_>) -> bool {
    rules::route_again(shared, request).is_ok_and(|route| match route.outcome {
        RouteOutcome::Acted(_) => true,
        RouteOutcome::Refused(_) => route.handler == Handler::Script(Rung::Cgi),
        _ => false,
    })
}

/// Returns the response without Perl. If Perl's response handler has declined, the file is sent.
fn as_routed(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    body: Option<Box<Spooled>>,
) -> HandlerOutcome {
    match rules::route_again(shared, request) {
        Ok(route) if route.is_perls() => {
            if let Some(page) = included(shared, request, &route) {
                return page;
            }
            // As in Apache, the file is not sent for a path that goes on behind the file.
            let takes_info = route.settings.files.accept_path_info == Some(true);
            let path = if takes_info || route.path_info.is_empty() {
                route.file.clone()
            } else {
                [&route.file[..], &route.path_info].concat()
            };
            let chosen = ChosenFile {
                path: &path,
                error: None,
            };
            sent_file(shared, request, Some(&route.settings), chosen)
        }
        Ok(route) => with_body(shared, request, &route, body),
        Err(problem) => status_page::refusal(shared, request, None, problem.status),
    }
}

/// The handler that Perl has chosen by its name, and the file, if Perl has chosen another one.
struct ChosenHandler<'a> {
    name: &'a [u8],
    file: Option<&'a [u8]>,
}

/// Returns the response of the handler that Perl has chosen. The rules of the place decide what
/// that handler may do.
fn by_handler(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    chosen: ChosenHandler<'_>,
    body: Option<Box<Spooled>>,
) -> HandlerOutcome {
    let handler = Handler::of_name(&String::from_utf8_lossy(chosen.name));
    if let Some(file) = chosen.file {
        return named_file(shared, request, None, (file, Some(handler)), body);
    }
    let mut state = request.rule_state.cloned().unwrap_or_default();
    state.place = None;
    state.mapping.handler = Some(handler);
    let request = Request {
        rule_state: Some(&state),
        ..*request
    };
    match rules::route_again(shared, &request) {
        Ok(route) => with_body(shared, &request, &route, body),
        Err(problem) => status_page::refusal(shared, &request, None, problem.status),
    }
}

/// Returns the front's own response for a route. `body` is the request's body, if Perl has left it.
fn with_body(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    route: &Route,
    body: Option<Box<Spooled>>,
) -> HandlerOutcome {
    let start = |body: Body<'_>| start::start_without_perl(shared, request, route, body);
    let started = match body {
        None => Ok(start(Body::Empty)),
        Some(body) => body.give(start),
    };
    started.unwrap_or_else(|_| status_page::refusal(shared, request, Some(&route.settings), 500))
}

/// Sends the request to the back end that handlers have named. Like in Apache, handlers name it by
/// `$r->filename("proxy:URL")`.
fn to_back_end(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    url: &[u8],
    body: Option<Box<Spooled>>,
) -> HandlerOutcome {
    let is_plain = |byte: &u8| byte.is_ascii_graphic();
    let url = std::str::from_utf8(url).ok();
    let named = url.filter(|url| url.bytes().all(|byte| is_plain(&byte)));
    let named = named.and_then(mehari_config::chosen_back_end);
    let (route, (upstream, path)) = match (rules::route_again(shared, request), named) {
        (Ok(route), Some(named)) => (route, named),
        (Err(problem), _) => return status_page::refusal(shared, request, None, problem.status),
        (Ok(route), None) => {
            return status_page::refusal(shared, request, Some(&route.settings), 500)
        }
    };
    let path = if path.is_empty() {
        "/".to_owned()
    } else {
        path
    };
    let name = upstream.name.clone();
    if !shared.backends.upstreams.choose(upstream) {
        return status_page::refusal(shared, request, Some(&route.settings), 503);
    }
    let asked = [&route.script_name[..], &route.path_info].concat();
    let proxied = Proxied {
        upstream: name,
        from: PassFrom::Prefix(String::from_utf8_lossy(&asked).into_owned()),
        to: Some(path.clone()),
        raw: false,
    };
    let route = Route {
        host: route.host,
        settings: route.settings.clone(),
        handler: Handler::Proxy(Arc::new(proxied)),
        file: Vec::new(),
        script_name: Vec::new(),
        path_info: asked,
        // A question mark in the name belongs to the path, because the query is that of the
        // request.
        outcome: RouteOutcome::Proxied(path.replace('?', "%3f").into_bytes()),
        intermediate_settings: Vec::new(),
        is_looked_up: false,
        led_to: None,
        action: None,
        index_of: None,
        file_mark: None,
    };
    with_body(shared, request, &route, body)
}

/// Returns the response of a file that Perl's handlers have named, perhaps with its handler. A
/// program among such files runs.
fn named_file(
    shared: &Rc<Shared>,
    request: &Request<'_>,
    settings: Option<&Settings>,
    (path, handler): (&[u8], Option<Handler>),
    body: Option<Box<Spooled>>,
) -> HandlerOutcome {
    let htaccess = &shared.routing.htaccess;
    let named = match (rules::route_again(shared, request), handler) {
        (Ok(route), Some(handler)) => Some(Arc::new(route.settings.with_handler(&handler))),
        // Perl's response handler has declined, so the file is sent.
        (Ok(route), None) if route.is_perls() => None,
        (Ok(route), None) if matches!(route.outcome, RouteOutcome::Proxied(_)) => None,
        (Ok(route), None) => Some(route.settings.clone()),
        (Err(_), _) => None,
    };
    let found = named.and_then(|settings| {
        routing::find_named(&shared.site(), htaccess, request, settings, path).ok()
    });
    match found {
        Some(route) if is_for_named_file(&route.outcome) => {
            with_body(shared, request, &route, body)
        }
        _ => {
            let chosen = ChosenFile { path, error: None };
            sent_file(shared, request, settings, chosen)
        }
    }
}

fn is_for_named_file(outcome: &RouteOutcome) -> bool {
    matches!(
        outcome,
        RouteOutcome::Program
            | RouteOutcome::Acted(_)
            | RouteOutcome::File(_)
            | RouteOutcome::Refused(_)
    )
}

/// A file that is sent in place of a program's response.
struct ChosenFile<'a> {
    path: &'a [u8],
    /// The status of the error whose page the file is.
    error: Option<u16>,
}

fn sent_file(
    shared: &Shared,
    request: &Request<'_>,
    settings: Option<&Settings>,
    chosen: ChosenFile<'_>,
) -> HandlerOutcome {
    const NOT_FOUND: Problem = Problem::refused(404, "no such file");
    let error = chosen.error.or(request.error());
    let site = shared.site();
    let settings = settings.unwrap_or(&site.host(request.virtual_host).base);
    if let (None, Some(answer)) = (error, file::without_content(request)) {
        return status_page::file_or_document(shared, request, settings, answer);
    }
    let found = stat(chosen.path).filter(|(_, found)| is_file(found));
    let answer = found.ok_or(NOT_FOUND).and_then(|(name, found)| {
        let target = FileTarget::new(name, &found);
        match error {
            None => file::answer(request, &target, settings, &shared.content.files)
                .map(|answer| status_page::file_or_document(shared, request, settings, answer)),
            Some(status) => {
                status_page::file_of_error(&target, settings, &shared.content.files, status)
                    .map(HandlerOutcome::Answer)
            }
        }
    });
    answer.unwrap_or_else(|problem| {
        status_page::refusal(shared, request, Some(settings), problem.status)
    })
}

/// Returns the route to the file that Perl's response handler has declined to send, if the file may
/// have server-side includes.
pub fn route_to_page(route: &Route) -> Option<Route> {
    if !route.is_perls() || route.settings.output.includes.are_off() {
        return None;
    }
    let (name, found) = stat(&route.file).filter(|(_, found)| is_file(found))?;
    let target = FileTarget::new(name, &found);
    Some(route.to_file(route.file.clone(), target))
}

/// Renders the file that Perl's response handler has declined to send. `None`: the file has no
/// includes.
fn included(shared: &Rc<Shared>, request: &Request<'_>, route: &Route) -> Option<HandlerOutcome> {
    let route = route_to_page(route)?;
    let RouteOutcome::File(target) = &route.outcome else {
        return None;
    };
    let begun = ssi::begin_page(shared, request, &route, target, Box::new(Inside))?;
    Some(begun.unwrap_or_else(|problem| {
        status_page::refusal(shared, request, Some(&route.settings), problem.status)
    }))
}

/// Returns the page of a status: the page that handlers have set, or else the configured page.
/// `$r->custom_response` takes the same values as `ErrorDocument`.
fn page(
    shared: &Shared,
    request: &Request<'_>,
    settings: Option<&Settings>,
    status: u16,
    document: Option<&[u8]>,
) -> HandlerOutcome {
    let document = document
        .filter(|_| request.error().is_none())
        .and_then(|document| std::str::from_utf8(document).ok());
    match document {
        Some(document) => status_page::document_work(status, document),
        None => status_page::refusal(shared, request, settings, status),
    }
}

/// Returns the line of a media type. `charset`: its default character set.
fn type_line(media_type: &[u8], charset: Option<&str>) -> Vec<u8> {
    let parameter = charset.map(|charset| format!("; charset={charset}"));
    let parameter = parameter.as_deref().unwrap_or_default().as_bytes();
    [b"Content-Type: ", media_type, parameter, b"\r\n"].concat()
}

/// Adds the handlers' header lines. They replace the front's lines of the same name. Content-Length
/// is left out, because handlers cannot know the body's length.
fn add_lines(answer: &mut Answer, lines: &[u8]) {
    if lines.is_empty() {
        return;
    }
    if let Content::Cached(resource) = &answer.content {
        answer.lines.splice(0..0, resource.lines().iter().copied());
        answer.content = Content::Bytes(resource.body().to_vec());
    }
    let is_theirs = |line: &&[u8]| !name(line).eq_ignore_ascii_case(b"content-length");
    let theirs: Vec<&[u8]> = each(lines).filter(is_theirs).collect();
    let is_replaced =
        |line: &[u8]| (theirs.iter()).any(|their| name(their).eq_ignore_ascii_case(name(line)));
    let mut merged: Vec<u8> = each(&answer.lines)
        .filter(|line| !is_replaced(line))
        .flatten()
        .copied()
        .collect();
    theirs
        .iter()
        .for_each(|line| merged.extend_from_slice(line));
    answer.lines = merged;
}

fn each(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines.split_inclusive(|byte| *byte == b'\n')
}

fn name(line: &[u8]) -> &[u8] {
    let end = memchr::memchr(b':', line).unwrap_or(line.len());
    &line[..end]
}

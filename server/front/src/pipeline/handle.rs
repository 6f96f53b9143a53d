//! Evaluates a request's rules, reads the body and starts the handler.

use super::admit::traffic_verdict;
use super::cache::look_up;
use super::client::{ClientStream, Gathered, Gone, TOO_LARGE};
use super::scripts;
use crate::content::page;
use crate::content::spool::Spooled;
use crate::handlers::{ActingTarget, HandlerOutcome};
use crate::pipeline::rules::Admission;
use crate::pipeline::{start, status_page, RequestContext, RequestSource};
use crate::request::{RedirectCause, Request};
use crate::routing::{Route, RouteOutcome};
use crate::shared::traffic::Verdict;
use crate::shared::uploads::{self, Upload};
use crate::shared::Shared;
use mehari_http::problem::Problem;
use mehari_net::deadline::Phase;
use mehari_pool::Body;
use std::rc::Rc;
use std::time::Duration;

/// Returns the configured page of a status.
pub fn page<C: ClientStream>(client: &C, context: &RequestContext, status: u16) -> HandlerOutcome {
    let (request, settings) = (client.request(context), context.settings.as_deref());
    status_page::refusal(client.shared(), &request, settings, status)
}

/// Returns the page for a problem that was found before the handler was started.
pub fn refuse<C: ClientStream>(
    client: &mut C,
    context: &RequestContext,
    problem: Problem,
) -> HandlerOutcome {
    client.note_refusal(&problem);
    page(client, context, problem.status)
}

/// Returns the page for a problem that was found before the body was read. The connection of a
/// well-formed request continues, so the body is discarded.
pub async fn refuse_unread<C: ClientStream>(
    client: &mut C,
    context: &RequestContext,
    problem: Problem,
) -> Result<HandlerOutcome, Gone> {
    if !problem.closes {
        client.discard_body().await?;
    }
    Ok(refuse(client, context, problem))
}

/// Evaluates the rules and continues with admitted requests.
pub async fn begin<C: ClientStream>(
    client: &mut C,
    context: &mut RequestContext,
) -> Result<HandlerOutcome, Gone> {
    if client.shared().lua.is_used() {
        if let Err(problem) = client.read_for_scripts(context).await? {
            return Ok(refuse(client, context, problem));
        }
    }
    match scripts::admit(client, context).await {
        Err(problem) => refuse_unread(client, context, problem).await,
        Ok(Admission::To(route)) => start_with_body(client, context, &route).await,
        Ok(Admission::Answer(answer)) if exceeds_limit(client, context, answer.status) => {
            Ok(refuse(client, context, TOO_LARGE))
        }
        Ok(Admission::Answer(answer)) => {
            client.discard_body().await?;
            Ok(HandlerOutcome::Answer(answer))
        }
        Ok(Admission::Status(status)) if exceeds_limit(client, context, status) => {
            if let Some(state) = &mut context.rule_state {
                // The challenge belongs to the status 401.
                state.challenge_anew(b"");
            }
            Ok(refuse(client, context, TOO_LARGE))
        }
        Ok(Admission::Status(status)) => {
            client.discard_body().await?;
            Ok(page(client, context, status))
        }
    }
}

/// Starts the handler of a route. The request's body is read if the handler wants it, and otherwise
/// discarded.
async fn start_with_body<C: ClientStream>(
    client: &mut C,
    context: &mut RequestContext,
    route: &Rc<Route>,
) -> Result<HandlerOutcome, Gone> {
    context.note_route(route);
    let refused = apply_traffic_rules(client, context).await?;
    context.mark("traffic rules");
    if let Some(work) = refused {
        return Ok(work);
    }
    if !route.settings.cache.is_off() {
        let kept = look_up(client, context, route).await?;
        context.mark("cache");
        if let Some(work) = kept {
            return Ok(work);
        }
    }
    if route.settings.tracking.uploads {
        let size = client.announced_length();
        context.upload = track(client.shared(), &client.request(context), size);
        client.track(context.upload.clone());
    }
    let body = if wants_body(route) {
        client
            .read_body(context, route.settings.limits.body)
            .await?
    } else if exceeds_limit(client, context, early_refusal(route)) {
        Err(TOO_LARGE)
    } else {
        client.discard_body().await?;
        Ok(Gathered::Empty)
    };
    context.mark("body of the request");
    Ok(match body {
        Err(problem) => refuse(client, context, problem),
        Ok(gathered) => {
            context.record.received += gathered.length();
            client.begin_work();
            let work = with_body(client, context, route, gathered);
            context.mark_wait("start the handler");
            work
        }
    })
}

/// Whether the client announces a body that is longer than the place allows. As in Apache, this
/// refusal comes before an answer with another status, unless a local error document is that
/// answer.
fn exceeds_limit<C: ClientStream>(client: &C, context: &RequestContext, status: u16) -> bool {
    let site = client.shared().site();
    let host = site.host(context.host);
    let settings = context.settings.as_deref().unwrap_or(&host.base);
    let mut documents = settings.error_documents.iter();
    let limit = settings.limits.body;
    let is_documented =
        |(known, document): &(u16, String)| *known == status && document.starts_with('/');
    limit > 0 && client.announced_length() > limit && !documents.any(is_documented)
}

/// Returns the status with which the access rules refuse every request for a route, or 0. Apache
/// finds other refusals only when it responds.
fn early_refusal(route: &Route) -> u16 {
    match &route.outcome {
        RouteOutcome::Refused(problem) if problem.status == 403 => 403,
        _ => 0,
    }
}

/// Applies the traffic rules: the request may have to wait. Returns the answer if the rules refuse
/// the request.
async fn apply_traffic_rules<C: ClientStream>(
    client: &mut C,
    context: &mut RequestContext,
) -> Result<Option<HandlerOutcome>, Gone> {
    let address = context.client(client.peer()).remote_addr;
    match traffic_verdict(client.shared(), context, client.method(), &address) {
        Verdict::Pass => Ok(None),
        Verdict::Wait(time) => {
            let clock = &client.shared().clock;
            client.guard().enter(clock, Phase::Work, Duration::MAX);
            tokio::time::sleep(time).await;
            Ok(None)
        }
        Verdict::Refused(refusal) => {
            client.discard_body().await?;
            Ok(Some(status_page::retry_later(client, context, refusal)))
        }
    }
}

fn with_body<C: ClientStream>(
    client: &C,
    context: &RequestContext,
    route: &Route,
    gathered: Gathered,
) -> HandlerOutcome {
    let body = match gathered {
        Gathered::Empty => Body::Empty,
        Gathered::Buffered(length) => Body::Memory(client.buffered(length)),
        Gathered::Memory(ref memory) => Body::Memory(memory),
        Gathered::File(file, length) => Body::File(file.into(), length),
    };
    start::begin(client.shared(), &client.request(context), route, body)
}

/// Redirects a request internally: starts the handler of another path, without a body.
pub async fn redirect_internally<C: ClientStream>(
    client: &mut C,
    context: &mut RequestContext,
    target: Vec<u8>,
    status: u16,
) -> HandlerOutcome {
    let is_in_bounds = context.redirect(target, status, RedirectCause::Response, client.target());
    let work = start_redirected(client, context, is_in_bounds, None).await;
    match &work {
        // As in Apache, an error document that redirects the client has failed.
        HandlerOutcome::Answer(answer) if status >= 400 && answer.is_redirect() => {
            page(client, context, status)
        }
        _ => work,
    }
}

/// Starts the handler of another path, with the request's body: the program of an `Action`, or what
/// responds at a path to which Perl has redirected the request.
pub async fn act<C: ClientStream>(
    client: &mut C,
    context: &mut RequestContext,
    acting: ActingTarget,
) -> HandlerOutcome {
    let (cause, from) = match acting.action {
        Some(action) => {
            let state = context.rule_state.get_or_insert_with(Default::default);
            state.set(b"HANDLER", action.name.into_bytes());
            (RedirectCause::Action, Some(action.from))
        }
        None => (RedirectCause::Handlers, None),
    };
    let is_in_bounds = context.redirect(acting.target, 200, cause, client.target());
    if let (Some(redirect), Some(from)) = (&mut context.redirect, from) {
        redirect.from = Some(from);
    }
    start_redirected(client, context, is_in_bounds, acting.body).await
}

/// Starts the handler to which a request was redirected. `is_in_bounds`: there were not too many
/// redirects.
async fn start_redirected<C: ClientStream>(
    client: &mut C,
    context: &mut RequestContext,
    is_in_bounds: bool,
    body: Option<Spooled>,
) -> HandlerOutcome {
    if !is_in_bounds {
        client.log(context, "redirected within the server too often");
        return HandlerOutcome::Answer(page::answer(500, None));
    }
    match scripts::admit(client, context).await {
        Err(problem) => refuse(client, context, problem),
        Ok(Admission::To(route)) => {
            context.note_route(&route);
            let start = |body: Body<'_>| {
                start::begin(client.shared(), &client.request(context), &route, body)
            };
            let started = match body {
                None => Ok(start(Body::Empty)),
                Some(body) => body.give(start),
            };
            started.unwrap_or_else(|_| page(client, context, 500))
        }
        Ok(Admission::Answer(answer)) => HandlerOutcome::Answer(answer),
        Ok(Admission::Status(status)) => page(client, context, status),
    }
}

/// Tracks the progress of a request with a body and a progress id.
fn track(shared: &Shared, request: &Request<'_>, size: u64) -> Option<Rc<Upload>> {
    if matches!(request.method, b"GET" | b"HEAD") {
        return None;
    }
    let id = uploads::id(request.fields.iter(), request.query())?;
    shared.uploads.begin(id, size)
}

/// Whether the route's handler reads request bodies.
fn wants_body(route: &Route) -> bool {
    matches!(
        route.outcome,
        RouteOutcome::Program | RouteOutcome::Proxied(_)
    ) || route.settings.runs_phases()
}

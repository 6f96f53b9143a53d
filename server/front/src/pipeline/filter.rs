//! Adds the output filters of a place to a response: [`render`] processes server-side includes,
//! [`edit`] applies the rules of `Substitute`, and [`apply`] compresses the result.

use super::client::ClientStream;
use crate::content::includes::mode;
use crate::content::media::type_by_name;
use crate::content::{Answer, Content};
use crate::filters::{self, Editor, Plan, IN_PLACE};
use crate::handlers::through::Before;
use crate::handlers::{fault, ssi, Backend, Fault, Filtered, HandlerOutcome};
use crate::pipeline::included::Inside;
use crate::pipeline::{rules, RequestContext, RequestSource};
use crate::request::owned::OwnedRequest;
use crate::request::Request;
use crate::routing::Route;
use mehari_config::{Coding, Settings};
use mehari_http::header_block::{self, HeaderBlock};
use mehari_http::status;
use mehari_pool::Head;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

/// Returns an answer of the front, as a back end if the rules of `Substitute` or a compression
/// apply to the answer. Files are compressed elsewhere, once for all requests.
pub fn answered(
    request: &Request<'_>,
    file: &[u8],
    settings: &Settings,
    answer: Answer,
) -> HandlerOutcome {
    let output = &settings.output;
    if answer.is_of_server() || output.substitutions.are_off() && output.compression.is_off() {
        return HandlerOutcome::Answer(answer);
    }
    let (status, lines) = (answer.status, answer.lines().concat());
    let length = match &answer.content {
        Content::Bytes(_) | Content::Shared(_) => Some(answer.content.length()),
        Content::Cached(_) | Content::File(_) => None,
    };
    let is_planned =
        length.is_some() && filters::plan(request, settings, status, &lines, length).is_some();
    if is_planned || filters::edits(request, file, settings, status, &lines) {
        HandlerOutcome::Backend(Backend::answered(answer))
    } else {
        HandlerOutcome::Answer(answer)
    }
}

/// Processes the elements of server-side includes in a program's response, and changes the head
/// accordingly.
///
/// # Errors
/// The page has failed before anything of it could be sent.
pub async fn render<C: ClientStream>(
    client: &C,
    context: &RequestContext,
    head: &mut Head,
    lines: &mut HeaderBlock,
    backend: &mut Backend,
) -> Result<(), Fault> {
    // The front has processed the elements of its own answers.
    if matches!(backend, Backend::Answered(_)) {
        return Ok(());
    }
    let Some(route) = route(context) else {
        return Ok(());
    };
    let includes = &route.settings.output.includes;
    head.may_be_conditional &= !includes.are_inserted(&route.file);
    if includes.hide_tag(&route.file) {
        remove(&mut head.lines, b"etag");
        *lines = header_block::validate(&head.lines).unwrap_or_default();
    }
    // Perl's filters come after the filter INCLUDES, or before it.
    if matches!(backend, Backend::Through(_)) && !route.settings.output.includes.after_perl {
        return Ok(());
    }
    let request = client.request(context);
    if !renders(&request, &route, head) {
        return Ok(());
    }
    change_head(&route, head);
    *lines = header_block::validate(&head.lines).unwrap_or_default();
    if status::has_no_body(head.status) {
        return Ok(());
    }
    let mut rendering = ssi::begin_program(client.shared(), &request, &route, Box::new(Inside));
    poll_fn(|cx| Poll::Ready(rendering.begin(backend, cx))).await?;
    backend.wrap(|inner| Filtered::rendering(inner, rendering));
    Ok(())
}

/// Returns what processes the elements in the response of a program or a back end before Perl's
/// filters. `None`: nothing is processed there.
pub fn before_perl<C: ClientStream>(
    client: &C,
    context: &RequestContext,
    backend: &Backend,
    work: &HandlerOutcome,
) -> Option<Before> {
    let (Backend::Perl(exchange, _), HandlerOutcome::Backend(_)) = (backend, work) else {
        return None;
    };
    let route = route(context).filter(|_| exchange.has_fetch())?;
    let includes = &route.settings.output.includes;
    if includes.are_off() || includes.after_perl {
        return None;
    }
    let request = client.request(context);
    let rendering = ssi::begin_program(client.shared(), &request, &route, Box::new(Inside));
    let request = OwnedRequest::of(&request, None);
    Some(Box::new(move |head, backend| {
        let is_own = matches!(backend, Backend::Answered(_));
        if !is_own && renders(&request.request(), &route, head) {
            change_head(&route, head);
            backend.wrap(|inner| Filtered::rendering(inner, rendering));
        }
    }))
}

/// Returns whether the filter INCLUDES processes a program's response. As in Apache,
/// `AddOutputFilterByType` chooses only responses with the status 200, unless the variable
/// `filter-errordocs` is set, and `XBitHack` heeds the name and the permissions of the program's
/// file.
pub fn renders(request: &Request<'_>, route: &Route, head: &Head) -> bool {
    let settings = &route.settings;
    let includes = &settings.output.includes;
    if includes.are_off() || head.is_redirect {
        return false;
    }
    let of_type = head.status == 200 || filters::is_set(request, settings, "filter-errordocs");
    let media_type = of_type.then(|| filters::media_type(&head.lines));
    includes.are_for_program(&route.file, media_type, || {
        let named = type_by_name(&route.file, settings);
        named.is_some_and(|named| named.starts_with("text/html")) && mode(&route.file) & 0o100 != 0
    })
}

/// Removes the fields that do not fit the rendered page.
pub fn change_head(route: &Route, head: &mut Head) {
    let includes = &route.settings.output.includes;
    remove(&mut head.lines, b"content-length");
    if !includes.keep_tags {
        remove(&mut head.lines, b"etag");
    }
    if !includes.keep_dates {
        remove(&mut head.lines, b"last-modified");
    }
    ssi::add_date(route, &mut head.lines);
    head.content_length = None;
}

/// Removes the header lines with this name.
fn remove(lines: &mut Vec<u8>, name: &[u8]) {
    let kept = lines.split_inclusive(|byte| *byte == b'\n');
    let kept = kept.filter(|line| !has_name(line, name));
    *lines = kept.flatten().copied().collect();
}

/// Returns the route of the place whose settings hold: that which Perl handlers have chosen, or
/// that of the request.
fn route(context: &RequestContext) -> Option<Rc<Route>> {
    let settings = context.settings.as_ref()?;
    let chosen = context.rule_state.as_deref().and_then(rules::noted_place);
    let known = [chosen, context.route.clone()].into_iter().flatten();
    let mut known = known.filter(|route| Arc::ptr_eq(&route.settings, settings));
    known.next()
}

/// Applies the rules of `Substitute` to a response, and changes the head accordingly.
///
/// # Errors
/// A line of a short response is or becomes too long.
pub async fn edit<C: ClientStream>(
    client: &C,
    context: &RequestContext,
    head: &mut Head,
    lines: &mut HeaderBlock,
    backend: &mut Backend,
) -> Result<(), Fault> {
    let Some(settings) = context.settings.as_deref() else {
        return Ok(());
    };
    let rules = &settings.output.substitutions;
    if rules.are_off() {
        return Ok(());
    }
    // An answer of the front is a back end only if it is changed.
    let is_edited = matches!(backend, Backend::Answered(_)) || {
        let request = client.request(context);
        filters::edits(&request, request.path(), settings, head.status, &head.lines)
    };
    if !is_edited {
        return Ok(());
    }
    remove(&mut head.lines, b"content-length");
    head.content_length = None;
    *lines = header_block::validate(&head.lines).unwrap_or_default();
    let mut editor = Editor::new(rules);
    let small = if backend.is_complete() {
        read_complete(backend).await
    } else {
        None
    };
    match small {
        None => backend.wrap(|inner| Filtered::editing(inner, editor)),
        Some(bytes) if bytes.len() > IN_PLACE => {
            backend.wrap(|inner| Filtered::editing(inner, editor).fed(bytes));
        }
        Some(bytes) => {
            let written = editor.write(&bytes);
            let edited = written.and_then(|()| editor.finish());
            let edited = edited.map_err(|error| fault(&error))?;
            backend.wrap(|inner| Filtered::holding(inner, edited));
            // A program sends no body for HEAD, so the length of the body for GET is unknown.
            if !context.is_head {
                head.content_length = backend.held_length();
            }
        }
    }
    Ok(())
}

fn has_name(line: &[u8], name: &[u8]) -> bool {
    let end = memchr::memchr(b':', line).unwrap_or(line.len());
    line[..end].eq_ignore_ascii_case(name)
}

/// Adds the output filters for a program's response, and changes the head accordingly.
pub async fn apply<C: ClientStream>(
    client: &C,
    context: &RequestContext,
    head: &mut Head,
    lines: &mut HeaderBlock,
    backend: &mut Backend,
) {
    if let Some(plan) = plan(client, context, head, lines) {
        put_behind(plan, context.is_head, head, lines, backend).await;
    }
}

/// Plans the filters of a response.
fn plan<C: ClientStream>(
    client: &C,
    context: &RequestContext,
    head: &Head,
    lines: &HeaderBlock,
) -> Option<filters::Plan> {
    let settings = context.settings.as_deref()?;
    if settings.output.compression.is_off() {
        return None;
    }
    let length = lines.content_length.or(head.content_length);
    let request = client.request(context);
    filters::plan(&request, settings, head.status, &head.lines, length)
}

/// Carries out the plan: changes the head and inserts the filter.
async fn put_behind(
    plan: Plan,
    to_head: bool,
    head: &mut Head,
    lines: &mut HeaderBlock,
    backend: &mut Backend,
) {
    let coding = match plan.coding {
        None => None,
        Some(coding) => {
            let small = if backend.is_complete() {
                read_complete(backend).await
            } else {
                None
            };
            match small {
                // A program sends no body for HEAD, but the head must be that of GET, with this
                // coding.
                Some(bytes) if to_head && bytes.is_empty() => {
                    backend.wrap(|inner| Filtered::holding(inner, bytes));
                    Some(coding)
                }
                small => put_between(&plan, coding, small, backend),
            }
        }
    };
    head.lines = plan.header(coding, &head.lines);
    *lines = header_block::validate(&head.lines).unwrap_or_default();
    if coding.is_some() {
        head.content_length = None;
        lines.content_length = None;
    } else if head.content_length.is_none() {
        head.content_length = backend.held_length();
    }
}

/// Inserts the filter for a coding. Returns the coding that is used: short or incompressible bodies
/// stay unchanged.
fn put_between(
    plan: &Plan,
    coding: Coding,
    small: Option<Vec<u8>>,
    backend: &mut Backend,
) -> Option<Coding> {
    let Some(bytes) = small else {
        return match Filtered::begin(coding, plan.level()) {
            Ok(begin) => {
                backend.wrap(begin);
                Some(coding)
            }
            Err(_) => None,
        };
    };
    if bytes.len() as u64 >= plan.least.max(1) && bytes.len() <= IN_PLACE {
        let coded = filters::whole(coding, plan.level(), &bytes).ok();
        if let Some(coded) = coded.filter(|coded| coded.len() < bytes.len()) {
            backend.wrap(|inner| Filtered::holding(inner, coded));
            return Some(coding);
        }
    } else if bytes.len() > IN_PLACE {
        if let Ok(begin) = Filtered::begin(coding, plan.level()) {
            backend.wrap(|inner| begin(inner).fed(bytes));
            return Some(coding);
        }
        return None;
    }
    backend.wrap(|inner| Filtered::holding(inner, bytes));
    None
}

/// Returns the whole body if it has arrived. `None`: a part has not arrived, or the program has
/// failed.
async fn read_complete(backend: &mut Backend) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let whole = poll_fn(|cx| loop {
        match backend.poll_body(cx, &mut bytes, usize::MAX) {
            Poll::Ready(Ok(true)) => {}
            Poll::Ready(Ok(false)) => break Poll::Ready(true),
            Poll::Ready(Err(_)) | Poll::Pending => break Poll::Ready(false),
        }
    });
    whole.await.then_some(bytes)
}

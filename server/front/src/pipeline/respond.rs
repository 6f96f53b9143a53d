//! Sends a response: a complete answer, or a program's output as it arrives.

use super::client::{BodyLength, ClientStream, Gone, ResponseHead};
use super::filter;
use super::handle::page;
use super::response_body::{self, ResponseBody};
use crate::content::{Answer, Content};
use crate::filters::header_rules::Tables;
use crate::handlers::{Backend, HandlerOutcome};
use crate::pipeline::headers::{self, Unruled};
use crate::pipeline::scripts::{self, OriginalHead, Response as Scripted};
use crate::pipeline::{RequestContext, RequestSource};
use mehari_config::Handler;
use mehari_http::header_block::{self, HeaderBlock};
use mehari_http::status;
use mehari_pool::{Head, UNMARKED};
use std::future::poll_fn;
use std::task::Poll;

/// Sends an answer. Edge scripts and header rules may change the answer first.
pub async fn answer<C: ClientStream>(
    client: &mut C,
    context: &mut RequestContext,
    mut answer: Answer,
) -> Result<(), Gone> {
    if context.is_seen_by_scripts() {
        let said = scripted(client, context, answer.status, answer.lines()).await;
        answer = match said {
            None => answer,
            Some(Scripted {
                instead: Some(instead),
                ..
            }) => instead,
            Some(Scripted { status, lines, .. }) => answer.with_head(status, lines),
        };
    }
    let content = if start_answer(client, context, &answer)? {
        answer.content
    } else {
        Content::empty()
    };
    context.mark("head of the response");
    client.send_content(context, content).await?;
    context.mark("body of the response");
    Ok(())
}

/// Sends the head of an answer. Returns false if no body follows.
pub fn start_answer<C: ClientStream>(
    client: &mut C,
    context: &mut RequestContext,
    answer: &Answer,
) -> Result<bool, Gone> {
    context.status = answer.status;
    let length = if status::has_no_body(answer.status) {
        BodyLength::Bodiless
    } else {
        BodyLength::Known(answer.content.length())
    };
    let unruled = Unruled {
        status: answer.status,
        lines: answer.lines(),
        tables: if answer.is_of_server() {
            Tables::Server
        } else {
            Tables::Handler
        },
        marks: &UNMARKED,
        repeats_vary: false,
        type_of_parts: answer.type_of_parts(),
    };
    let changed = changed_lines(client, context, unruled);
    let resource = match &answer.content {
        Content::Cached(resource) if changed.is_none() => Some(&**resource),
        _ => None,
    };
    context.declined.promised = Some(match length {
        BodyLength::Known(length) => length,
        _ => 0,
    });
    let is_empty = context.is_head || length == BodyLength::Bodiless;
    let lines = match &changed {
        None => answer.lines(),
        Some(changed) => [&changed[..], &[]],
    };
    let head = ResponseHead {
        lines,
        resource,
        has_date: context.is_dated(lines),
        has_server: false,
        length,
        ends: is_empty || length == BodyLength::Known(0),
    };
    client.start_response(context, &head)?;
    Ok(!is_empty)
}

/// Sends a program's response. Edge scripts see the head first. Returns the answer that replaces
/// the response, if there is one.
pub async fn scripted_program<C: ClientStream>(
    client: &mut C,
    context: &mut RequestContext,
    backend: &mut Backend,
    mut head: Head,
) -> Result<Option<HandlerOutcome>, Gone> {
    let said = scripted(client, context, head.status, [&head.lines, &[]]).await;
    if let Some(response) = said {
        if let Some(answer) = response.instead {
            return Ok(Some(HandlerOutcome::Answer(answer)));
        }
        (head.status, head.lines) = (response.status, response.lines);
    }
    match header_block::validate(&head.lines) {
        Ok(lines) => {
            program(client, context, backend, head, lines).await?;
            Ok(None)
        }
        Err(_) => Ok(Some(page(client, context, 500))),
    }
}

/// Sends a program's response.
pub async fn program<C: ClientStream>(
    client: &mut C,
    context: &mut RequestContext,
    backend: &mut Backend,
    mut head: Head,
    mut lines: HeaderBlock,
) -> Result<(), Gone> {
    context.status = head.status;
    context.note_reason(head.reason.take());
    let tables = tables(context, backend, head.status);
    filter::apply(client, context, &mut head, &mut lines, backend).await;
    let length = match lines.content_length.or(head.content_length) {
        _ if status::has_no_body(head.status) => BodyLength::Bodiless,
        Some(length) => BodyLength::Known(length),
        None => BodyLength::Unknown,
    };
    let mut body = ResponseBody::new(client, context, length);
    poll_fn(|cx| {
        let mut scratch = client.shared().scratch.borrow_mut();
        body.learn_length(cx, backend, &mut scratch);
        Poll::Ready(())
    })
    .await;
    let mut store = Vec::new();
    let kept = lines.kept(&head.lines, &mut store);
    let unruled = Unruled {
        status: head.status,
        lines: kept,
        tables: if head.is_redirect {
            Tables::Server
        } else {
            tables
        },
        marks: &head.marks,
        repeats_vary: lines.vary_fields > 1,
        type_of_parts: None,
    };
    let changed = changed_lines(client, context, unruled);
    let response = ResponseHead {
        lines: match &changed {
            None => kept,
            Some(changed) => [&changed[..], &[]],
        },
        resource: None,
        has_date: head.has_date,
        has_server: head.has_server,
        length: body.length,
        ends: body.silent,
    };
    client.start_response(context, &response)?;
    context.mark("head of the response");
    body.push_known(client);
    let result = poll_fn(|cx| {
        let sent = response_body::poll(client, cx, context, &mut body, backend);
        if body.has_ended() {
            context.tell_worker(body.sent());
        }
        sent
    });
    let result = result.await;
    if result.is_err() {
        backend.note_departure();
    } else if body.is_unread() {
        response_body::give_up(backend, &body);
    }
    context.mark_wait("body of the response");
    context.tell_worker(body.sent());
    context.record.sent = body.delivered(client.withheld());
    if let Some(remark) = body.remark() {
        client.log(context, &remark);
    }
    result?;
    client.end_response(body.is_cut_off(), body.framing).await
}

/// Returns the tables of the fields that a back end sends, unless its worker has said them. What a
/// script prints survives an error. For a PSGI application, Plack's handler for Apache chooses the
/// table by the status.
pub fn tables(context: &RequestContext, backend: &Backend, status: u16) -> Tables {
    let set = context
        .settings
        .as_ref()
        .and_then(|settings| settings.handlers.set.as_ref());
    match (backend, set) {
        (Backend::Captured(captured), _) => tables(context, captured.inner(), status),
        (Backend::Filtered(filtered), _) => tables(context, filtered.inner(), status),
        (Backend::Through(through), _) if through.is_of_program() => Tables::Script,
        (Backend::Cgi(_), _) => Tables::Script,
        (Backend::Proxy(exchange), _) if exchange.is_program() => Tables::Script,
        (Backend::Perl(..), Some(Handler::Perl { .. })) => Tables::Handler,
        (Backend::Perl(..), Some(Handler::Psgi(_))) if (200..300).contains(&status) => {
            Tables::Handler
        }
        (Backend::Perl(..), _) => Tables::Script,
        _ => Tables::Handler,
    }
}

/// Returns the head as edge scripts have changed it. `None`: unchanged.
async fn scripted<C: ClientStream>(
    client: &C,
    context: &mut RequestContext,
    status: u16,
    lines: [&[u8]; 2],
) -> Option<Scripted> {
    let head = OriginalHead { status, lines };
    scripts::respond(client, context, head).await
}

/// Returns the header lines as the configuration's rules change them. `None`: unchanged.
fn changed_lines<C: ClientStream>(
    client: &C,
    context: &RequestContext,
    unruled: Unruled<'_>,
) -> Option<Vec<u8>> {
    let request = || client.request(context);
    let before = unruled.lines;
    let changed = headers::of_response(client.shared(), context, request, unruled);
    match server_timing(client, context) {
        None => changed,
        Some(value) => {
            let mut lines = changed.unwrap_or_else(|| before.concat());
            lines.extend_from_slice(format!("Server-Timing: {value}\r\n").as_bytes());
            Some(lines)
        }
    }
}

/// Returns the value of the field Server-Timing, if the client gets the field.
fn server_timing<C: ClientStream>(client: &C, context: &RequestContext) -> Option<String> {
    let trace = context.trace.as_ref()?;
    let site = client.shared().site();
    let settings = context.settings.as_deref();
    let settings = settings.unwrap_or(&site.host(context.host).base);
    let peer = context.client(client.peer());
    let clients = &settings.tracking.server_timing;
    clients
        .permits(&peer.remote_addr)
        .then(|| trace.server_timing())
}

//! What a program or a back end says first: its head is checked, and what that asks for is done.

use super::cache::{receive, rescue};
use super::client::{ClientStream, Gone};
use super::handle::page;
use super::respond;
use crate::handlers::{printed, send_file, Backend, Fault, HandlerOutcome, Said};
use crate::pipeline::{declined, RequestContext};
use crate::request::Request;
use mehari_http::lines::{self, Lines};
use mehari_pool::Head;
use std::future::poll_fn;
use std::task::Poll;

/// Sends what a program says. An outcome instead of `None`: something else has to answer.
pub async fn answer<C: ClientStream>(
    client: &mut C,
    context: &mut RequestContext,
    backend: &mut Backend,
) -> Result<Option<HandlerOutcome>, Gone> {
    let lease = context.lease.take();
    let said = first_said(client, context, backend).await?;
    let lease = match lease {
        None => None,
        Some(lease) => match rescue(client, context, lease, &said) {
            Ok(work) => return Ok(Some(work)),
            Err(lease) => Some(lease),
        },
    };
    let mut head = match said {
        Ok(Said::Response(head)) => head,
        Ok(Said::Elsewhere(target)) => return Ok(Some(HandlerOutcome::Elsewhere(target, 200))),
        Ok(Said::Answered(answer)) => return Ok(Some(HandlerOutcome::Answer(*answer))),
        Ok(Said::Page(status)) => return Ok(Some(page(client, context, status))),
        Ok(Said::Upgrade(head)) => {
            let is_done = client.upgrade(context, backend, &head).await?;
            return Ok((!is_done).then(|| page(client, context, 502)));
        }
        Ok(Said::Passed(mut passed, body)) => {
            context.note_passed(&mut passed);
            return Ok(Some(client.with_request(context, |request| {
                let settings = context.settings.as_deref();
                declined::work(client.shared(), request, settings, *passed, body)
            })));
        }
        Err(fault) => {
            context.credit(backend);
            client.log(context, &fault.to_string());
            return Ok(Some(page(client, context, fault.status())));
        }
    };
    head.status = context.status_for(head.status);
    let mut lines = match lines::examine(&head.lines) {
        Ok(lines) if (200..=999).contains(&head.status) => lines,
        other => {
            let problem = other.err().unwrap_or("a status outside 200 to 999");
            let text = format!("the program's response has {problem}; answered 500");
            client.log(context, &text);
            return Ok(Some(page(client, context, 500)));
        }
    };
    if !lines.purge.is_empty() {
        client.with_request(context, |request| {
            let cache = &client.shared().cache;
            cache.purge_said(request, &head.lines, &lines)
        });
    }
    if let Some(lease) = lease {
        let work = client.with_request(context, |request| {
            let response = (&mut head, &lines);
            receive(client.shared(), context, request, lease, response, backend)
        });
        if work.is_some() {
            return Ok(work);
        }
    }
    if let Some(work) = instead(client, context, &mut head, &mut lines) {
        return Ok(Some(work));
    }
    if context.is_seen_by_scripts() {
        return respond::scripted_program(client, context, backend, head).await;
    }
    respond::program(client, context, backend, head, lines).await?;
    Ok(None)
}

/// What answers instead of a program's body: the file that its head names, or that the client's conditions are not met.
fn instead<C: ClientStream>(
    client: &C,
    context: &RequestContext,
    head: &mut Head,
    lines: &mut Lines,
) -> Option<HandlerOutcome> {
    if lines.send_file.is_some() {
        if let Some(work) = sent_file(client, context, head, lines) {
            return Some(work);
        }
    }
    if lines.has_validator() && head.may_be_conditional {
        let settle = |request: &Request<'_>| printed::settle(request, head, lines);
        if !client.with_request(context, settle) {
            return Some(page(client, context, 412));
        }
    }
    None
}

/// What comes of a head that names a file, where that is allowed.
fn sent_file<C: ClientStream>(
    client: &C,
    context: &RequestContext,
    head: &Head,
    lines: &Lines,
) -> Option<HandlerOutcome> {
    let settings = context.settings.as_deref()?;
    let site = client.shared().site();
    let files = &client.shared().files;
    let answer = client.with_request(context, |request| {
        send_file::answer(
            request,
            site.host(context.host),
            settings,
            head,
            lines,
            files,
        )
    });
    Some(match answer? {
        Ok(answer) => HandlerOutcome::Answer(answer),
        Err(problem) => {
            client.log(context, problem.reason);
            page(client, context, problem.status)
        }
    })
}

/// Waits for a program's head; interim heads leave meanwhile (RFC 9110 section 15.2), and a client that goes ends it
/// all.
async fn first_said<C: ClientStream>(
    client: &mut C,
    context: &RequestContext,
    backend: &mut Backend,
) -> Result<Result<Said, Fault>, Gone> {
    poll_fn(|cx| {
        let said = backend.poll_head(cx);
        while let Some(head) = backend.take_interim() {
            if (102..200).contains(&head.status) && lines::examine(&head.lines).is_ok() {
                client.send_interim(context, &head)?;
            }
        }
        if let Poll::Ready(said) = said {
            return Poll::Ready(Ok(said));
        }
        client.poll_work(cx, backend.waits())?;
        Poll::Pending
    })
    .await
}

//! Interprets the head from a program or a back end.

use super::cache::{answer_after_failure, receive, Received};
use super::client::{ClientStream, Gone};
use super::filter;
use super::handle::page;
use super::respond;
use crate::content::media;
use crate::handlers::{printed, send_file, Backend, BackendHead, Fault, HandlerOutcome};
use crate::pipeline::{declined, rules, status_page, RequestContext, RequestSource};
use crate::routing::Route;
use crate::shared::traffic::Refusal;
use mehari_config::Handler;
use mehari_http::header_block::{self, HeaderBlock};
use mehari_http::status;
use mehari_pool::Head;
use std::future::poll_fn;
use std::task::Poll;

/// Sends a program's response. Returns an outcome if something else must respond.
pub async fn answer<C: ClientStream>(
    client: &mut C,
    context: &mut RequestContext,
    backend: &mut Backend,
) -> Result<Option<HandlerOutcome>, Gone> {
    let fill_lock = context.cache.fill_lock.take();
    let mut said = await_head(client, context, backend).await?;
    if let Some((lines, marks)) = context.declined.before_program.take() {
        // As in Apache, the handlers' fields join those of a CGI program. A redirect and an error
        // keep only err_headers_out.
        match &mut said {
            Ok(BackendHead::Response(head)) if backend.speaks_http() => {
                head.join_back_end(&lines, &marks)
            }
            Ok(BackendHead::Response(head)) if !head.is_redirect => head.join(&lines, &marks),
            _ => context.note_lines(&marks.surviving(&lines)),
        }
    }
    // Rules about the response heed what the worker has told.
    context.note_backend(backend);
    context.mark_wait(waited_for(backend));
    let fill_lock = match fill_lock {
        None => None,
        Some(fill_lock) => match answer_after_failure(client, context, fill_lock, &said) {
            Ok(work) => return Ok(Some(work)),
            Err(fill_lock) => Some(fill_lock),
        },
    };
    let mut head = match said {
        Ok(BackendHead::Response(head)) => {
            // Rules about the response are those of the place that handlers have chosen.
            if let Some(moved) = context.declined.moved.take() {
                follow(client, context, moved);
            }
            head
        }
        Ok(BackendHead::Elsewhere(target, lines)) => {
            context.note_lines(&lines);
            return Ok(Some(HandlerOutcome::Elsewhere(target, 200)));
        }
        Ok(BackendHead::Answered(answer)) => {
            let request = client.request(context);
            // A page of the cache has passed the filters already.
            let is_kept = context.cache.status.get().is_kept();
            return Ok(Some(match context.settings.as_deref() {
                Some(settings) if !is_kept => {
                    filter::answered(&request, request.path(), settings, *answer)
                }
                _ => HandlerOutcome::Answer(*answer),
            }));
        }
        Ok(BackendHead::Rules(left)) => {
            context.cache.fill_lock = fill_lock;
            let (shared, asked) = (client.shared().clone(), client.target().to_vec());
            rules::answer_worker(&shared, context, &asked, client, (backend, left)).await;
            // The variables of `SetEnv` follow.
            if let Some(state) = &mut context.rule_state {
                state.told.clear();
            }
            return Box::pin(answer(client, context, backend)).await;
        }
        Ok(BackendHead::Page(status)) => return Ok(Some(page(client, context, status))),
        Ok(BackendHead::Upgrade(head)) => {
            let is_done = client.upgrade(context, backend, &head).await?;
            return Ok((!is_done).then(|| page(client, context, 502)));
        }
        Ok(BackendHead::Declined(mut declined, body)) => {
            context.note_declined(&mut declined);
            if let Some(target) = declined.moved.take() {
                follow(client, context, (target, declined.file.take()));
            }
            // As in Apache, the response of the other target keeps err_headers_out.
            if declined.target.is_some() && declined.status < 400 {
                context.note_lines(&declined.lines);
            }
            let (request, settings) = (client.request(context), context.settings.as_deref());
            let (shared, lines) = (client.shared(), declined.lines.clone());
            let marks = declined.marks.clone();
            let work = declined::continue_declined(shared, &request, settings, *declined, body);
            if matches!(
                work,
                HandlerOutcome::Backend(Backend::Cgi(_) | Backend::Proxy(_))
            ) {
                context.declined.before_program = Some((lines, marks));
            }
            return Ok(Some(work));
        }
        Err(fault) => return Ok(Some(page_of_fault(client, context, fault))),
    };
    head.status = context.status_for(head.status);
    if status::has_no_body(head.status) {
        media::remove_type(&mut head.lines);
    } else if let Some(settings) = context.settings.as_deref() {
        if let Some(route) = script(context).filter(|_| !head.is_redirect) {
            media::add_type_by_name(&mut head.lines, &route.file, settings);
        }
        media::add_default_charset(&mut head.lines, settings);
    }
    let mut lines = match header_block::validate(&head.lines) {
        Ok(lines) if (200..=999).contains(&head.status) => lines,
        other => {
            let problem = other.err().unwrap_or("a status outside 200 to 999");
            let text = format!("the program's response has {problem}; answered 500");
            client.log(context, &text);
            return Ok(Some(page(client, context, 500)));
        }
    };
    if !lines.purge.is_empty() {
        let cache = &client.shared().cache;
        cache.purge_said(&client.request(context), &head.lines, &lines);
    }
    if let Err(fault) = filter::render(client, context, &mut head, &mut lines, backend).await {
        return Ok(Some(page_of_fault(client, context, fault)));
    }
    if let Err(fault) = filter::edit(client, context, &mut head, &mut lines, backend).await {
        return Ok(Some(page_of_fault(client, context, fault)));
    }
    if let Some(fill_lock) = fill_lock {
        let request = client.request(context);
        let received = Received {
            head: &mut head,
            lines: &lines,
            backend: &mut *backend,
        };
        let work = receive(client.shared(), context, &request, fill_lock, received);
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

/// Returns the route of a script.
fn script(context: &RequestContext) -> Option<&Route> {
    let route = context.route.as_deref();
    route.filter(|route| matches!(route.handler, Handler::Script(_)))
}

/// Leads the request to the path, and its file, that a Perl handler has chosen.
fn follow<C: ClientStream>(
    client: &C,
    context: &mut RequestContext,
    moved: (Vec<u8>, Option<Vec<u8>>),
) {
    let (shared, asked) = (client.shared().clone(), client.target().to_vec());
    rules::move_request(&shared, context, &asked, client, moved);
}

/// Returns the page for a missing response. The pool logs an overload and a crash loop, once for
/// all their requests.
fn page_of_fault<C: ClientStream>(
    client: &C,
    context: &mut RequestContext,
    fault: Fault,
) -> HandlerOutcome {
    use mehari_pool::Fault::{CrashLoop, Overloaded};
    let retry_after = match fault {
        Fault::Program(Overloaded(after) | CrashLoop(after)) => after.into(),
        _ => {
            let reason = fault.to_string();
            client.log(context, &reason);
            context.note_error(&reason);
            1
        }
    };
    match fault.status() {
        status @ 503 => {
            let refusal = Refusal {
                status,
                retry_after,
            };
            status_page::retry_later(client, context, refusal)
        }
        status => page(client, context, status),
    }
}

/// Returns the answer that replaces a program's response: the file that the head names, or the
/// answer to an unmet condition.
fn instead<C: ClientStream>(
    client: &C,
    context: &RequestContext,
    head: &mut Head,
    lines: &mut HeaderBlock,
) -> Option<HandlerOutcome> {
    if lines.send_file.is_some() {
        if let Some(work) = sent_file(client, context, head, lines) {
            return Some(work);
        }
    }
    let is_failed =
        head.may_be_conditional && !printed::settle(&client.request(context), head, lines);
    is_failed.then(|| page(client, context, 412))
}

/// Returns the answer for a head that names a file, if that is allowed.
fn sent_file<C: ClientStream>(
    client: &C,
    context: &RequestContext,
    head: &Head,
    lines: &HeaderBlock,
) -> Option<HandlerOutcome> {
    let settings = context.settings.as_deref()?;
    let site = client.shared().site();
    let files = &client.shared().content.files;
    let request = client.request(context);
    let host = site.host(context.host);
    let answer = send_file::answer(&request, host, settings, head, lines, files);
    Some(match answer? {
        Ok(answer) => HandlerOutcome::Answer(answer),
        Err(problem) => {
            client.log(context, problem.reason);
            page(client, context, problem.status)
        }
    })
}

/// Returns the name of a part of a traced request.
fn waited_for(backend: &Backend) -> &'static str {
    match backend {
        Backend::Perl(..) | Backend::Through(_) => "Perl",
        Backend::Cgi(_) => "program",
        Backend::Proxy(_) => "back end",
        Backend::Filtered(filtered) => waited_for(filtered.inner()),
        Backend::Captured(captured) => waited_for(captured.inner()),
        Backend::Deferred(_) | Backend::Answered(_) | Backend::Gone => "answer of the front",
    }
}

/// Waits for a program's head. Interim heads (RFC 9110 section 15.2) are sent meanwhile. If the
/// client leaves, the wait ends.
async fn await_head<C: ClientStream>(
    client: &mut C,
    context: &RequestContext,
    backend: &mut Backend,
) -> Result<Result<BackendHead, Fault>, Gone> {
    poll_fn(|cx| {
        let said = backend.poll_head(cx);
        while let Some(mut head) = backend.take_interim() {
            let lines = header_block::validate(&head.lines);
            if let (102..200, Ok(lines)) = (head.status, lines) {
                // No interim response has a Content-Length (RFC 9110 section 8.6).
                let mut kept = Vec::with_capacity(head.lines.len());
                lines.push_kept(&head.lines, &mut kept);
                head.lines = kept;
                client.send_interim(context, &head)?;
            }
        }
        if let Poll::Ready(said) = said {
            return Poll::Ready(Ok(said));
        }
        if let Err(gone) = client.poll_work(cx, backend.waits()) {
            backend.note_departure();
            return Poll::Ready(Err(gone));
        }
        Poll::Pending
    })
    .await
}

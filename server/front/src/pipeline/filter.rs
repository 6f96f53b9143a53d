//! Adds the output filters of a place to a program's response.

use super::client::ClientStream;
use crate::filters::{self, Plan, IN_PLACE};
use crate::handlers::{Backend, Filtered};
use crate::pipeline::{RequestContext, RequestSource};
use mehari_config::Coding;
use mehari_http::header_block::{self, HeaderBlock};
use mehari_pool::Head;
use std::future::poll_fn;
use std::task::Poll;

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

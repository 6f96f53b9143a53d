//! The output filters of a place, put behind a program.

use super::client::ClientStream;
use crate::filter;
use crate::handler::Backend;
use crate::lines::Lines;
use crate::request_context::RequestContext;
use mehari_pool::Head;

/// Puts the filters behind a program that has said this head, and changes the head to what they make of it.
pub async fn apply<C: ClientStream>(
    client: &C,
    context: &RequestContext,
    head: &mut Head,
    lines: &mut Lines,
    backend: &mut Backend,
) {
    if let Some(plan) = plan(client, context, head, lines) {
        filter::apply(plan, context.is_head, head, lines, backend).await;
    }
}

/// What the output filters of its place do to a response.
fn plan<C: ClientStream>(
    client: &C,
    context: &RequestContext,
    head: &Head,
    lines: &Lines,
) -> Option<filter::Plan> {
    let settings = context.settings.as_deref()?;
    if settings.output.compression.is_off() {
        return None;
    }
    let length = lines.content_length.or(head.content_length);
    client.with_request(context, |request| {
        filter::plan(request, settings, head.status, &head.lines, length)
    })
}

//! Sends a page that the server has made. What the client does not take waits in the backlog, as
//! output of programs does.

use super::{poll, BodyLength, BodyState, ClientStream, Framing, Gone, ResponseBody};
use crate::handlers::Backend;
use crate::pipeline::RequestContext;
use std::future::poll_fn;
use std::io;
use std::task::Context;

/// Sends a page that the server holds whole, or the rest of such a page.
pub async fn send_page<C: ClientStream>(
    client: &mut C,
    context: &mut RequestContext,
    page: Vec<u8>,
) -> Result<(), Gone> {
    let mut body = ResponseBody::of_page(client, page);
    let result = poll_fn(|cx| poll(client, cx, context, &mut body, &mut Backend::Gone)).await;
    context.record.sent += body.delivered(client.withheld());
    if let Some(remark) = body.remark() {
        client.log(context, &remark);
    }
    result?;
    client.end_response(body.is_cut_off(), body.framing).await
}

impl ResponseBody {
    fn of_page<C: ClientStream>(client: &C, page: Vec<u8>) -> ResponseBody {
        let length = page.len() as u64;
        let mut backlog = client.backlog();
        *backlog.memory() = page;
        ResponseBody {
            length: BodyLength::Known(length),
            framing: Framing::Plain,
            silent: false,
            state: BodyState::Done,
            whole: false,
            sent: length,
            discarded: 0,
            is_deserted: false,
            stalled: false,
            backlog,
        }
    }

    /// Moves the rest of a complete body to the backlog's file, as far as memory is limited.
    pub(super) fn poll_store<C: ClientStream>(&mut self, cx: &mut Context<'_>, client: &C) {
        self.backlog.room(cx, client.unsent());
        if self.backlog.overflows(cx) {
            self.state = BodyState::Lost(io::ErrorKind::StorageFull);
            self.backlog.clear();
        }
    }
}

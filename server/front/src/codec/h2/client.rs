//! An HTTP/2 stream as a [`ClientStream`]: its request and its response.

use super::body_sending::Sending;
use super::stream::Stream;
use crate::content::backlog::Backlog;
use crate::content::Content;
use crate::handlers::Backend;
use crate::pipeline::{
    self, BodyLength, ClientStream, Framing, Gathered, Gone, RequestContext, RequestHead,
    ResponseHead,
};
use crate::request::{Fields, Peer};
use crate::shared::uploads::Upload;
use crate::shared::Shared;
use http::Response;
use mehari_http::header_block;
use mehari_http::problem::Problem;
use mehari_net::deadline::{ConnectionGuard, Interrupt, Phase};
use mehari_pool::Head;
use std::future::Future;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

impl RequestHead for Stream {
    fn method(&self) -> &[u8] {
        self.head.method()
    }

    fn target(&self) -> &[u8] {
        self.head.target()
    }

    fn host(&self) -> &[u8] {
        self.head.host()
    }

    fn fields(&self) -> Fields<'_> {
        self.head.fields()
    }
}

impl ClientStream for Stream {
    fn shared(&self) -> &Rc<Shared> {
        &self.shared
    }

    fn peer(&self) -> &Peer {
        &self.peer
    }

    fn guard(&self) -> &ConnectionGuard {
        self.own_guard()
    }

    fn check_head(&self) -> Result<(), Problem> {
        self.head.check(&self.shared.site().limits)
    }

    fn is_bodiless(&self) -> bool {
        self.body.as_ref().is_none_or(|body| body.is_end_stream())
    }

    fn announced_length(&self) -> u64 {
        self.head.length()
    }

    fn track(&mut self, upload: Option<Rc<Upload>>) {
        self.tracked = upload;
    }

    async fn read_for_scripts(
        &mut self,
        context: &mut RequestContext,
    ) -> Result<Result<(), Problem>, Gone> {
        self.gather_for_scripts(context).await
    }

    fn read_body(
        &mut self,
        context: &RequestContext,
        limit: u64,
    ) -> impl Future<Output = Result<Result<Gathered, Problem>, Gone>> {
        self.gather(context, limit)
    }

    /// Always empty: a stream's body is never left in the codec's buffer.
    fn buffered(&self, _: usize) -> &[u8] {
        &[]
    }

    async fn discard_body(&mut self) -> Result<(), Gone> {
        self.body = None;
        Ok(())
    }

    fn note_refusal(&mut self, _: &Problem) {
        self.body = None;
    }

    fn begin_work(&self) {
        if let Some(guard) = self.guard.get() {
            guard.enter(&self.shared.clock, Phase::Work, Duration::MAX);
        }
    }

    /// Does nothing: the responses of other streams do not wait for this request.
    async fn settle(&mut self) -> Result<(), Gone> {
        Ok(())
    }

    fn poll_work(&mut self, cx: &mut Context<'_>, _: bool) -> Result<(), Gone> {
        let is_reset = self.respond.poll_reset(cx).is_ready();
        match self.own_guard().poll_interrupt(cx) {
            Some(Interrupt::Abort) => Err(Gone),
            _ if is_reset => Err(Gone),
            _ => Ok(()),
        }
    }

    fn send_interim(&mut self, _: &RequestContext, head: &Head) -> Result<(), Gone> {
        let mut response = Response::new(());
        *response.status_mut() = http::StatusCode::from_u16(head.status).map_err(|_| Gone)?;
        header_block::push_fields(response.headers_mut(), &head.lines);
        self.respond.send_informational(response).map_err(|_| Gone)
    }

    /// Always refuses: HTTP/2 requests have no Upgrade.
    async fn upgrade(
        &mut self,
        _: &mut RequestContext,
        _: &mut Backend,
        _: &Head,
    ) -> Result<bool, Gone> {
        Ok(false)
    }

    fn framing(&self, _: &RequestContext, _: BodyLength) -> Framing {
        Framing::Plain
    }

    fn start_response(
        &mut self,
        context: &mut RequestContext,
        head: &ResponseHead<'_>,
    ) -> Result<(), Gone> {
        let response = self.response(context, head)?;
        let stream = self.respond.send_response(response, head.ends);
        let stream = stream.map_err(|_| Gone)?;
        self.sending = Some(Sending::new(stream, head.ends, &self.outgoing));
        Ok(())
    }

    async fn send_content(
        &mut self,
        context: &mut RequestContext,
        content: Content,
    ) -> Result<(), Gone> {
        if self.sending.as_ref().is_none_or(Sending::has_ended) {
            return Ok(());
        }
        match content.into_own_bytes() {
            Ok(page) | Err(Content::Bytes(page)) => pipeline::send_page(self, context, page).await,
            Err(Content::Cached(resource)) => self.send(context, resource.bytes(), true).await,
            Err(Content::Shared(bytes)) => self.send(context, bytes, true).await,
            Err(Content::File(body)) => self.send_file(context, *body).await,
        }
    }

    async fn end_response(&mut self, is_cut_off: bool, _: Framing) -> Result<(), Gone> {
        match &mut self.sending {
            // If the body is shorter than announced, the client must see a reset.
            _ if is_cut_off => Err(Gone),
            Some(sending) => sending.end(),
            None => Ok(()),
        }
    }

    fn backlog(&self) -> Backlog {
        let share = self.outgoing.share.clone();
        Backlog::new(&self.shared.connections.unsent, Some(share))
    }

    fn unsent(&self) -> usize {
        self.withheld()
    }

    fn withheld(&self) -> usize {
        self.sending.as_ref().map_or(0, Sending::withheld)
    }

    fn buffer(&mut self) -> Option<&mut Vec<u8>> {
        None
    }

    fn poll_room(&mut self, cx: &mut Context<'_>, waiting: u64) -> Poll<Result<usize, Gone>> {
        match &mut self.sending {
            Some(sending) => sending.poll_room(cx, &self.outgoing, waiting),
            None => Poll::Ready(Err(Gone)),
        }
    }

    fn push(&mut self, bytes: Vec<u8>) {
        if let Some(sending) = &mut self.sending {
            sending.push(bytes);
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, is_last: bool) -> Poll<Result<(), Gone>> {
        match &mut self.sending {
            Some(sending) => sending.poll_write(cx, &self.outgoing, is_last),
            None => Poll::Ready(Err(Gone)),
        }
    }

    fn is_blocked(&self) -> bool {
        self.sending.as_ref().is_some_and(Sending::is_blocked)
    }

    fn takes_other_streams(&mut self) -> bool {
        let outgoing = &self.outgoing;
        let sending = self.sending.as_mut();
        sending.is_some_and(|sending| sending.others_got_on(outgoing))
    }

    fn poll_client(&mut self, cx: &mut Context<'_>) -> Result<(), Gone> {
        let sending = self.sending.as_mut();
        if sending.is_some_and(|sending| sending.poll_reset(cx)) {
            Err(Gone)
        } else {
            Ok(())
        }
    }

    /// The stream has ended with the head, so only the end of the connection is noticed.
    fn poll_departure(&mut self, cx: &mut Context<'_>) -> bool {
        self.outgoing.poll_closed(cx)
    }
}

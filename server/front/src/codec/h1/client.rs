//! An HTTP/1 connection as a [`ClientStream`]: the current request and its response.

use super::connection::Connection;
use super::reply::{self, Length, Reply};
use crate::content::backlog::Backlog;
use crate::content::Content;
use crate::handlers::Backend;
use crate::pipeline::{
    BodyLength, ClientStream, Framing, Gathered, Gone, RequestContext, RequestHead, ResponseHead,
};
use crate::request::{Fields, Peer, Protocol};
use crate::shared::uploads::Upload;
use crate::shared::Shared;
use mehari_http::http1::head::Framing as BodyFraming;
use mehari_http::problem::Problem;
use mehari_net::deadline::{ConnectionGuard, Interrupt, Phase};
use mehari_net::socket::Stream;
use mehari_pool::Head;
use std::future::Future;
use std::rc::Rc;
use std::task::{ready, Context, Poll};
use std::time::Duration;

/// How long the request of a half-closed client stays in the queue for a worker.
const PATIENCE: Duration = Duration::from_millis(250);

impl<S: Stream> RequestHead for Connection<S> {
    fn method(&self) -> &[u8] {
        self.head.method.of(self.input.bytes())
    }

    fn target(&self) -> &[u8] {
        self.head.target(self.input.bytes())
    }

    fn host(&self) -> &[u8] {
        let bytes = self.input.bytes();
        self.head.host.map_or(&[][..], |host| host.of(bytes))
    }

    fn fields(&self) -> Fields<'_> {
        Fields::Spans {
            bytes: self.input.bytes(),
            spans: &self.head.fields,
            name_lengths: self.head.name_lengths,
        }
    }
}

impl<S: Stream> ClientStream for Connection<S> {
    fn shared(&self) -> &Rc<Shared> {
        &self.shared
    }

    fn peer(&self) -> &Peer {
        &self.peer
    }

    fn guard(&self) -> &ConnectionGuard {
        &self.guard
    }

    fn check_head(&self) -> Result<(), Problem> {
        Ok(())
    }

    fn is_bodiless(&self) -> bool {
        self.head.framing == BodyFraming::None
    }

    fn announced_length(&self) -> u64 {
        match self.head.framing {
            BodyFraming::Length(length) => length,
            _ => 0,
        }
    }

    fn track(&mut self, upload: Option<Rc<Upload>>) {
        self.tracked = upload;
    }

    fn read_for_scripts(
        &mut self,
        context: &mut RequestContext,
    ) -> impl Future<Output = Result<Result<(), Problem>, Gone>> {
        self.gather_for_scripts(context)
    }

    async fn read_body(
        &mut self,
        _: &RequestContext,
        limit: u64,
    ) -> Result<Result<Gathered, Problem>, Gone> {
        let gathered = self.gather(limit).await?;
        self.owes_body = gathered.is_err();
        self.consumed = match gathered {
            Ok(Gathered::Buffered(length)) => self.head.length + length,
            _ => self.head.length,
        };
        Ok(gathered)
    }

    fn buffered(&self, length: usize) -> &[u8] {
        &self.input.bytes()[self.head.length..][..length]
    }

    fn discard_body(&mut self) -> impl Future<Output = Result<(), Gone>> {
        self.skip_body()
    }

    fn note_refusal(&mut self, problem: &Problem) {
        self.keep &= !problem.closes;
        self.refused |= problem.closes;
    }

    fn begin_work(&self) {
        // Registers the socket with the reactor if the response does not come at once.
        let glance = if self.socket.is_registered_lazily() {
            Duration::ZERO
        } else {
            Duration::MAX
        };
        self.guard.enter(&self.shared.clock, Phase::Work, glance);
    }

    fn settle(&mut self) -> impl Future<Output = Result<(), Gone>> {
        self.flush()
    }

    fn poll_work(&mut self, cx: &mut Context<'_>, waits: bool) -> Result<(), Gone> {
        if let Poll::Ready(Err(_)) = self.output.poll_write(cx, &mut self.socket) {
            return Err(Gone);
        }
        let (guard, clock) = (&self.guard, &self.shared.clock);
        if self.socket.is_registered_lazily()
            && guard.poll_interrupt(cx) == Some(Interrupt::TimedOut)
        {
            self.socket.watch().map_err(|_| Gone)?;
            guard.enter(clock, Phase::Work, Duration::MAX);
        }
        let had_ended = self.client_ended;
        self.poll_input(cx)?;
        if self.client_ended && !had_ended {
            self.guard.enter(&self.shared.clock, Phase::Work, PATIENCE);
        }
        match self.guard.poll_interrupt(cx) {
            Some(Interrupt::Abort) => Err(Gone),
            // The request is still in the queue, and the client has most likely given up.
            Some(Interrupt::TimedOut) if waits => Err(Gone),
            _ => Ok(()),
        }
    }

    fn send_interim(&mut self, context: &RequestContext, head: &Head) -> Result<(), Gone> {
        if context.protocol == Protocol::Http11 {
            reply::push_status_line(head.status, &mut self.output.bytes);
            self.output.bytes.extend_from_slice(&head.lines);
            self.output.bytes.extend_from_slice(b"\r\n");
        }
        Ok(())
    }

    async fn upgrade(
        &mut self,
        context: &mut RequestContext,
        backend: &mut Backend,
        head: &Head,
    ) -> Result<bool, Gone> {
        self.tunnel(context, backend, head).await.map(|()| true)
    }

    fn framing(&self, context: &RequestContext, length: BodyLength) -> Framing {
        match (length, context.protocol) {
            (BodyLength::Unknown, Protocol::Http10) => Framing::UntilClose,
            (BodyLength::Unknown, _) => Framing::Chunked,
            _ => Framing::Plain,
        }
    }

    fn start_response(
        &mut self,
        context: &mut RequestContext,
        head: &ResponseHead<'_>,
    ) -> Result<(), Gone> {
        let length = match (head.length, self.framing(context, head.length)) {
            (BodyLength::Known(length), _) => Length::Known(length),
            (_, Framing::Plain) => Length::Unsaid,
            (_, Framing::Chunked) => Length::Chunked,
            (_, Framing::UntilClose) => Length::Close,
        };
        let stops = self.shared.connections.stopping.get();
        self.keep &= length != Length::Close && !stops && !self.owes_body;
        let reply = Reply {
            status: context.status,
            reason: context.reason(),
            lines: [head.lines[0], head.lines[1], context.own_lines(&self.peer)],
            has_date: head.has_date,
            has_server: head.has_server,
            length,
            protocol: context.protocol,
            keep: self.keep,
            time: context.time,
        };
        let start = self.output.bytes.len();
        reply.push(&self.shared.clock, &mut self.output.bytes);
        context.note_head(&self.shared, &self.output.bytes[start..]);
        Ok(())
    }

    fn send_content(
        &mut self,
        context: &mut RequestContext,
        content: Content,
    ) -> impl Future<Output = Result<(), Gone>> {
        self.send_body(context, content)
    }

    async fn end_response(&mut self, is_cut_off: bool, framing: Framing) -> Result<(), Gone> {
        if !is_cut_off {
            return self.flush_if_large().await;
        }
        self.keep = false;
        self.flush().await?;
        if framing == Framing::UntilClose {
            // A normal close would make the truncated response look complete.
            self.socket.reset_when_closed();
        }
        Err(Gone)
    }

    fn backlog(&self) -> Backlog {
        Backlog::new(&self.shared.connections.unsent, None)
    }

    fn unsent(&self) -> usize {
        self.output.pending()
    }

    /// Returns 0: gathered output is sent later, together with the responses to further requests.
    fn withheld(&self) -> usize {
        0
    }

    fn buffer(&mut self) -> Option<&mut Vec<u8>> {
        self.output.compact();
        Some(&mut self.output.bytes)
    }

    fn poll_room(&mut self, _: &mut Context<'_>, _: u64) -> Poll<Result<usize, Gone>> {
        match self.output.pending() {
            0 => Poll::Ready(Ok(usize::MAX)),
            _ => Poll::Pending,
        }
    }

    fn push(&mut self, bytes: Vec<u8>) {
        self.output.refill(bytes);
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, _: bool) -> Poll<Result<(), Gone>> {
        if self.output.pending() == 0 {
            return Poll::Pending;
        }
        let wrote = ready!(self.output.poll_write(cx, &mut self.socket));
        Poll::Ready(wrote.map(drop).map_err(|_| Gone))
    }

    fn is_blocked(&self) -> bool {
        self.output.pending() > 0
    }

    fn takes_other_streams(&mut self) -> bool {
        false
    }

    fn poll_client(&mut self, cx: &mut Context<'_>) -> Result<(), Gone> {
        self.socket.watch().map_err(|_| Gone)?;
        self.poll_input(cx)
    }

    /// A client that has closed its sending side counts too: it has the whole response, and cannot
    /// send another request.
    fn poll_departure(&mut self, cx: &mut Context<'_>) -> bool {
        self.poll_client(cx).is_err() || self.client_ended
    }
}

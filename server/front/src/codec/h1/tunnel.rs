//! Forwards the bytes of an upgraded connection: WebSocket or another protocol.

use super::connection::Connection;
use super::reply::push_status_line;
use crate::handlers::proxy::tunnel;
use crate::handlers::Backend;
use crate::pipeline::{Gone, RequestContext};
use mehari_net::deadline::{Interrupt, Phase};
use mehari_net::socket::Stream;
use mehari_pool::Head;
use std::future::{poll_fn, Future};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

impl<S: Stream> Connection<S> {
    /// Confirms the upgrade, then forwards bytes until either side ends.
    pub(super) async fn tunnel(
        &mut self,
        context: &mut RequestContext,
        backend: &mut Backend,
        head: &Head,
    ) -> Result<(), Gone> {
        let Backend::Proxy(exchange) = backend else {
            return Err(Gone);
        };
        let limit = exchange.tunnel_timeout().unwrap_or(Duration::MAX);
        let talk = exchange.take_tunnel().ok_or(Gone)?;
        context.status = head.status;
        self.keep = false;
        push_status_line(head.status, &mut self.output.bytes);
        self.output.bytes.extend_from_slice(&head.lines);
        self.output.bytes.extend_from_slice(b"\r\n");
        self.flush().await?;
        let early = self.input.bytes()[self.consumed..].to_vec();
        let (guard, clock) = (&self.guard, &self.shared.clock);
        let moved = || guard.enter(clock, Phase::Work, limit);
        moved();
        let mut carrying = pin!(tunnel::forward(&mut self.socket, &early, talk, moved));
        let carried = poll_fn(|cx| match guard.poll_interrupt(cx) {
            Some(Interrupt::TimedOut | Interrupt::Abort) => Poll::Ready(None),
            _ => carrying.as_mut().poll(cx).map(Some),
        });
        if let Some(Ok((_, to_client))) = carried.await {
            context.record.sent += to_client;
        }
        Err(Gone)
    }
}

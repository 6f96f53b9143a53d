//! Sends gathered output and complete bodies.

use super::connection::Connection;
use super::output::Output;
use crate::content::Content;
use crate::pipeline::{self, Gone, RequestContext};
use mehari_net::deadline::{Interrupt, Phase};
use mehari_net::socket::Stream;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

/// Gathered responses of more bytes are sent before the next pipelined request begins.
const GATHERED: usize = 64 * 1024;
/// Copying a body of this many bytes costs more than an extra system call.
const LONG: usize = 16 * 1024;

impl<S: Stream> Connection<S> {
    /// Writes all gathered output.
    pub(super) async fn flush(&mut self) -> Result<(), Gone> {
        match self.output.pending() {
            0 => Ok(()),
            _ => self.write_out(Output::poll_write).await,
        }
    }

    /// Writes all gathered output before a part of a file that follows at once.
    pub(super) async fn flush_before_more(&mut self) -> Result<(), Gone> {
        self.write_out(Output::poll_write_before_more).await
    }

    async fn write_out(
        &mut self,
        write: impl Fn(&mut Output, &mut Context<'_>, &mut S) -> Poll<io::Result<bool>>,
    ) -> Result<(), Gone> {
        let mut waits = false;
        poll_fn(|cx| loop {
            match write(&mut self.output, cx, &mut self.socket) {
                Poll::Ready(Ok(true)) => return Poll::Ready(Ok(())),
                Poll::Ready(Ok(false)) => waits = false,
                Poll::Ready(Err(_)) => return Poll::Ready(Err(Gone)),
                Poll::Pending => return self.poll_stalled(cx, &mut waits),
            }
        })
        .await
    }

    /// Ends the connection if the client has taken no byte for the time of the write limit.
    pub(super) fn poll_stalled(
        &self,
        cx: &mut Context<'_>,
        waits: &mut bool,
    ) -> Poll<Result<(), Gone>> {
        if !std::mem::replace(waits, true) {
            let limit = self.shared.site().limits.write_timeout;
            self.guard.enter(&self.shared.clock, Phase::Write, limit);
        }
        match self.guard.poll_interrupt(cx) {
            None | Some(Interrupt::Drain) => Poll::Pending,
            Some(Interrupt::TimedOut | Interrupt::Abort) => Poll::Ready(Err(Gone)),
        }
    }

    /// Sends a complete body. A short body joins the gathered output. A long body is sent at once,
    /// without a copy.
    pub(super) async fn send_body(
        &mut self,
        context: &mut RequestContext,
        content: Content,
    ) -> Result<(), Gone> {
        match content.into_own_bytes() {
            Ok(page) | Err(Content::Bytes(page)) => self.send_page(context, page).await,
            Err(Content::Cached(resource)) => self.send_shared(context, resource.body()).await,
            Err(Content::Shared(bytes)) => self.send_shared(context, &bytes).await,
            Err(Content::File(body)) => self.send_file(context, *body).await,
        }
    }

    /// Sends a page that nothing else holds. What the socket does not take at once waits in a
    /// backlog, which limits the memory for clients that do not read.
    async fn send_page(
        &mut self,
        context: &mut RequestContext,
        mut page: Vec<u8>,
    ) -> Result<(), Gone> {
        if page.len() < LONG {
            return self.send_shared(context, &page).await;
        }
        let mut sent = 0;
        poll_fn(|cx| {
            while sent < page.len() {
                let rest = &page[sent..];
                match self.output.poll_write_with(cx, &mut self.socket, rest) {
                    Poll::Ready(Ok(count)) => sent += count,
                    Poll::Ready(Err(_)) => return Poll::Ready(Err(Gone)),
                    Poll::Pending => break,
                }
            }
            Poll::Ready(Ok(()))
        })
        .await?;
        context.record.sent += sent as u64;
        if sent == page.len() {
            return Ok(());
        }
        page.drain(..sent);
        pipeline::send_page(self, context, page).await
    }

    async fn send_shared(
        &mut self,
        context: &mut RequestContext,
        bytes: &[u8],
    ) -> Result<(), Gone> {
        if bytes.len() < LONG {
            self.output.bytes.extend_from_slice(bytes);
            context.record.sent += bytes.len() as u64;
            return self.flush_if_large().await;
        }
        let mut left = bytes;
        let mut waits = false;
        poll_fn(|cx| loop {
            match self.output.poll_write_with(cx, &mut self.socket, left) {
                Poll::Ready(Ok(count)) => {
                    context.record.sent += count as u64;
                    left = &left[count..];
                    waits = false;
                }
                Poll::Ready(Err(_)) => return Poll::Ready(Err(Gone)),
                Poll::Pending => return self.poll_stalled(cx, &mut waits),
            }
            if left.is_empty() && self.output.pending() == 0 {
                return Poll::Ready(Ok(()));
            }
        })
        .await
    }

    pub(super) async fn flush_if_large(&mut self) -> Result<(), Gone> {
        if self.output.pending() > GATHERED {
            self.flush().await
        } else {
            Ok(())
        }
    }
}

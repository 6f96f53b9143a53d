//! Sends gathered output and complete bodies.

use super::connection::Connection;
use super::output::Output;
use crate::content::Content;
use crate::pipeline::{Gone, RequestContext};
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
        let (vector, resource, shared);
        let bytes = match content {
            Content::Bytes(bytes) => {
                vector = bytes;
                &vector[..]
            }
            Content::Cached(cached) => {
                resource = cached;
                resource.body()
            }
            Content::Shared(bytes) => {
                shared = bytes;
                &shared[..]
            }
            Content::File(body) => return self.send_file(context, *body).await,
        };
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

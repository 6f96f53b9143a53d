//! Reads heads, and drains a connection that must end early.

use super::connection::Connection;
use crate::pipeline::Gone;
use mehari_http::problem::Problem;
use mehari_net::deadline::{Interrupt, Phase};
use mehari_net::socket::Stream;
use mehari_observe::trace;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::AsyncWriteExt;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How long the input of a refused client is read. The client's system can then deliver our
/// response before the system learns of the close.
pub const LINGER: Duration = Duration::from_secs(2);
/// The most bytes of a refused client's input that are read in this time.
pub const LINGER_BYTES: usize = 4 * 1024 * 1024;
/// The most bytes of further requests that are held while a program works. Further bytes stay in
/// the socket.
const AHEAD: usize = 64 * 1024;

pub enum Arrival {
    Request,
    Refused(Problem),
    End,
    Http2,
}

impl<S: Stream> Connection<S> {
    /// Waits for a complete head. Responses to earlier requests are sent before the wait.
    pub(super) async fn next_head(&mut self) -> Result<Arrival, Gone> {
        let site = self.shared.site();
        let limits = &site.limits;
        let mut waiting_for_head = self.served == 0;
        let mut began = self.shared.clock.tick();
        loop {
            if let Some(arrival) = self.look_at_input(limits) {
                return Ok(arrival);
            }
            if self.client_ended {
                return Ok(Arrival::End);
            }
            self.flush().await?;
            let idle = self.input.is_empty() && self.served > 0;
            if idle {
                self.output.release();
                let limit = limits.keep_alive.unwrap_or(Duration::ZERO);
                self.guard.enter(&self.shared.clock, Phase::Idle, limit);
            } else if !waiting_for_head {
                waiting_for_head = true;
                began = self.shared.clock.tick();
                self.guard
                    .enter(&self.shared.clock, Phase::Head, limits.header_timeout);
            }
            match self.fill().await? {
                Filled::Some if waiting_for_head && limits.header_rate.bytes > 0 => {
                    let come = self.input.bytes().len() as u64;
                    let all = limits.header_rate.allowance(limits.header_timeout, come);
                    let left = (began + all).saturating_sub(self.shared.clock.tick());
                    self.guard.enter(&self.shared.clock, Phase::Head, left);
                }
                Filled::Some => {}
                Filled::End => self.client_ended = true,
                Filled::Late if self.input.is_empty() => return Ok(Arrival::End),
                Filled::Late => {
                    self.shared.note_slow(&self.peer, "header");
                    let problem = Problem::malformed(408, "the head took too long");
                    return Ok(Arrival::Refused(problem));
                }
            }
        }
    }

    fn look_at_input(&mut self, limits: &mehari_config::ConnectionLimits) -> Option<Arrival> {
        let bytes = self.input.bytes();
        if bytes.is_empty() {
            return None;
        }
        if let Some(times) = &self.peer.times {
            if self.shared.tracer.wants_times() {
                times.note_head(trace::now());
            }
        }
        if self.served == 0 && self.scan.is_untouched() {
            let known = bytes.len().min(PREFACE.len());
            if bytes[..known] == PREFACE[..known] {
                return (known == PREFACE.len()).then_some(Arrival::Http2);
            }
        }
        let parsed = match self.scan.advance(bytes, limits) {
            Ok(None) => return None,
            Ok(Some(extent)) => self.head.parse(bytes, extent),
            Err(problem) => Err(problem),
        };
        Some(match parsed {
            Ok(()) => Arrival::Request,
            Err(problem) => Arrival::Refused(problem),
        })
    }

    /// Reads once from the socket.
    pub(super) async fn fill(&mut self) -> Result<Filled, Gone> {
        poll_fn(|cx| self.poll_fill(cx)).await
    }

    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<Filled, Gone>> {
        match self.input.poll_fill(cx, &mut self.socket) {
            Poll::Ready(Ok(0)) => return Poll::Ready(Ok(Filled::End)),
            Poll::Ready(Ok(_)) => {
                self.guard.note_first_byte();
                return Poll::Ready(Ok(Filled::Some));
            }
            Poll::Ready(Err(_)) => return Poll::Ready(Err(Gone)),
            Poll::Pending => {}
        }
        match self.guard.poll_interrupt(cx) {
            None => Poll::Pending,
            Some(Interrupt::TimedOut | Interrupt::Drain) => Poll::Ready(Ok(Filled::Late)),
            Some(Interrupt::Abort) => Poll::Ready(Err(Gone)),
        }
    }

    /// Notices, while a program works, that the client has sent more, ended or left.
    pub(super) fn poll_input(&mut self, cx: &mut Context<'_>) -> Result<(), Gone> {
        if self.socket.is_registered_lazily() {
            return Ok(());
        }
        while !self.client_ended && self.input.bytes().len() < AHEAD {
            match self.input.poll_fill(cx, &mut self.socket) {
                Poll::Ready(Ok(0)) => self.client_ended = true,
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(_)) => return Err(Gone),
                Poll::Pending => break,
            }
        }
        Ok(())
    }

    /// Closes the sending side, then reads for a limited time and amount.
    pub(super) async fn linger(&mut self) {
        let deadline = LINGER;
        self.guard
            .enter(&self.shared.clock, Phase::Linger, deadline);
        if self.socket.shutdown().await.is_err() {
            return;
        }
        let mut read = 0;
        while read < LINGER_BYTES {
            read += self.input.bytes().len();
            self.input.consume(self.input.bytes().len());
            match self.fill().await {
                Ok(Filled::Some) => {}
                _ => return,
            }
        }
    }
}

pub(super) enum Filled {
    Some,
    End,
    Late,
}

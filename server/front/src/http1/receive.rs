//! Reading requests: heads, bodies, and what is left when a connection must end early.

use super::chunked::Decoder;
use super::connection::{Connection, Current, Gone};
use super::head::Framing;
use crate::deadline::{Alarm, Phase};
use crate::dispatch::Dispatch;
use crate::problem::Problem;
use crate::socket::Stream;
use crate::spool::{Spool, Spooled, IN_MEMORY};
use std::fs::File;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::AsyncWriteExt;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How long, and for how much, a refused client is read on, so that its system delivers our answer
/// before it learns of the close.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 4 * 1024 * 1024;
/// A body nobody wants is read up to this size to keep the connection.
const SKIPPED: u64 = 64 * 1024;
/// Read at a time of a large body.
const CHUNK: usize = 64 * 1024;

const TOO_LARGE: Problem = Problem::malformed(413, "the body is larger than LimitRequestBody");
const TOO_SLOW: Problem = Problem::malformed(408, "the client stopped sending");
const NO_SPACE: Problem = Problem::malformed(500, "a temporary file for the body failed");
const CUT_OFF: Problem = Problem::malformed(400, "the client ended within a body");

pub enum Arrival {
    Request,
    Refused(Problem),
    End,
    Http2,
}

/// A complete body.
pub enum Gathered {
    Empty,
    /// Its length; it lies in the input behind the head.
    InInput(usize),
    Memory(Vec<u8>),
    File(File, u64),
}

impl Gathered {
    /// Bytes of the body that are still in the input.
    pub fn in_input(&self) -> usize {
        match self {
            Gathered::InInput(length) => *length,
            _ => 0,
        }
    }
}

impl<S: Stream, D: Dispatch> Connection<S, D> {
    /// Waits for a complete head. What earlier requests were answered leaves before it sleeps.
    pub(super) async fn next_head(&mut self) -> Result<Arrival, Gone> {
        let site = self.shared.site();
        let limits = &site.limits;
        let mut waiting_for_head = false;
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
                self.seat.enter(&self.shared.clock, Phase::Idle, limit);
            } else if !waiting_for_head && self.served > 0 {
                waiting_for_head = true;
                self.seat
                    .enter(&self.shared.clock, Phase::Head, limits.header_timeout);
            }
            match self.fill().await? {
                Filled::Some => {}
                Filled::End => self.client_ended = true,
                Filled::Late if self.input.is_empty() => return Ok(Arrival::End),
                Filled::Late => {
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

    /// Reads the body for a program. The inner error: the request is refused, the rest unread.
    pub(super) async fn read_body(
        &mut self,
        limit: u64,
    ) -> Result<Result<Gathered, Problem>, Gone> {
        let limit = if limit == 0 { u64::MAX } else { limit };
        match self.head.framing {
            Framing::None => Ok(Ok(Gathered::Empty)),
            Framing::Length(length) if length > limit => Ok(Err(TOO_LARGE)),
            Framing::Length(length) => {
                self.invite_body().await?;
                match length <= IN_MEMORY as u64 {
                    true => self.read_small(length as usize).await,
                    false => self.read_large(length).await,
                }
            }
            Framing::Chunked => {
                self.invite_body().await?;
                self.read_chunked(limit).await
            }
        }
    }

    /// Throws away a body that nobody reads. What is too much to wait for costs the connection.
    pub(super) async fn skip_body(&mut self, turn: &mut Current) -> Result<(), Gone> {
        let waits = self.head.expects_continue && self.input.bytes().len() == self.head.length;
        let skipped = match self.head.framing {
            Framing::None => true,
            _ if waits => false,
            Framing::Length(length) if length > SKIPPED => false,
            _ => match self.read_body(SKIPPED).await? {
                Ok(gathered) => {
                    self.cut_body(gathered.in_input());
                    true
                }
                Err(_) => false,
            },
        };
        turn.keep &= skipped;
        turn.refused |= !skipped;
        Ok(())
    }

    /// `100 Continue`, if the client waits for it.
    async fn invite_body(&mut self) -> Result<(), Gone> {
        if self.head.expects_continue && self.input.bytes().len() == self.head.length {
            self.output
                .bytes
                .extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
            self.flush().await?;
        }
        let limit = self.shared.site().limits.body_timeout;
        self.seat.enter(&self.shared.clock, Phase::Body, limit);
        Ok(())
    }

    async fn read_small(&mut self, length: usize) -> Result<Result<Gathered, Problem>, Gone> {
        let end = self.head.length + length;
        self.input.reserve(end);
        while self.input.bytes().len() < end {
            if let Some(problem) = self.fill_body().await? {
                return Ok(Err(problem));
            }
        }
        Ok(Ok(Gathered::InInput(length)))
    }

    async fn read_large(&mut self, length: u64) -> Result<Result<Gathered, Problem>, Gone> {
        let mut spool = Spool::default();
        loop {
            let left = length - spool.length();
            let body = &self.input.bytes()[self.head.length..];
            let take = left.min(body.len() as u64) as usize;
            spool.memory().extend_from_slice(&body[..take]);
            self.cut_body(take);
            if spool.settle().await.is_err() {
                return Ok(Err(NO_SPACE));
            }
            if spool.length() == length {
                return Ok(gathered(spool).await);
            }
            if let Some(problem) = self.fill_body().await? {
                return Ok(Err(problem));
            }
        }
    }

    async fn read_chunked(&mut self, limit: u64) -> Result<Result<Gathered, Problem>, Gone> {
        let site = self.shared.site();
        let mut decoder = Decoder::new(site.limits.header_size, site.limits.fields);
        let mut spool = Spool::default();
        loop {
            let body = &self.input.bytes()[self.head.length..];
            let taken = match decoder.decode(body, spool.memory()) {
                Ok(taken) => taken,
                Err(problem) => return Ok(Err(problem)),
            };
            self.cut_body(taken);
            if spool.length() > limit {
                return Ok(Err(TOO_LARGE));
            }
            if spool.settle().await.is_err() {
                return Ok(Err(NO_SPACE));
            }
            if decoder.is_done() {
                return Ok(gathered(spool).await);
            }
            if let Some(problem) = self.fill_body().await? {
                return Ok(Err(problem));
            }
        }
    }

    /// Takes `count` bytes behind the head out of the input.
    fn cut_body(&mut self, count: usize) {
        self.input.cut(self.head.length, count);
    }

    /// Reads more of a body; each byte gives the client its time anew.
    async fn fill_body(&mut self) -> Result<Option<Problem>, Gone> {
        if self.client_ended {
            return Ok(Some(CUT_OFF));
        }
        if !matches!(self.head.framing, Framing::Length(length) if length <= IN_MEMORY as u64) {
            self.input.reserve(self.head.length + CHUNK);
        }
        match self.fill().await? {
            Filled::Some => {
                let limit = self.shared.site().limits.body_timeout;
                self.seat.enter(&self.shared.clock, Phase::Body, limit);
                Ok(None)
            }
            Filled::Late => Ok(Some(TOO_SLOW)),
            Filled::End => {
                self.client_ended = true;
                Ok(Some(CUT_OFF))
            }
        }
    }

    /// Reads once.
    async fn fill(&mut self) -> Result<Filled, Gone> {
        poll_fn(|cx| self.poll_fill(cx)).await
    }

    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<Filled, Gone>> {
        match self.input.poll_fill(cx, &mut self.socket) {
            Poll::Ready(Ok(0)) => return Poll::Ready(Ok(Filled::End)),
            Poll::Ready(Ok(_)) => return Poll::Ready(Ok(Filled::Some)),
            Poll::Ready(Err(_)) => return Poll::Ready(Err(Gone)),
            Poll::Pending => {}
        }
        match self.seat.poll_alarm(cx) {
            None => Poll::Pending,
            Some(Alarm::Late | Alarm::Leave) => Poll::Ready(Ok(Filled::Late)),
            Some(Alarm::Abandon) => Poll::Ready(Err(Gone)),
        }
    }

    /// Notices while a program works that the client has sent more, ended, or gone.
    pub(super) fn poll_client(&mut self, cx: &mut Context<'_>) -> Result<(), Gone> {
        while !self.client_ended && self.input.bytes().len() < CHUNK {
            match self.input.poll_fill(cx, &mut self.socket) {
                Poll::Ready(Ok(0)) => self.client_ended = true,
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(_)) => return Err(Gone),
                Poll::Pending => break,
            }
        }
        Ok(())
    }

    /// Ends our side, then reads what the client still sends, for a bounded time and amount.
    pub(super) async fn linger(&mut self) {
        let deadline = LINGER;
        self.seat.enter(&self.shared.clock, Phase::Linger, deadline);
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

enum Filled {
    Some,
    End,
    Late,
}

async fn gathered(spool: Spool) -> Result<Gathered, Problem> {
    match spool.finish().await {
        Ok(Spooled::Memory(memory)) => Ok(Gathered::Memory(memory)),
        Ok(Spooled::File(file, length)) => Ok(Gathered::File(file, length)),
        Err(_) => Err(NO_SPACE),
    }
}

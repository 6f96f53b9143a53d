//! Reads request bodies into memory or into a file. A program starts when the body is complete.

use super::connection::Connection;
use super::receive::Filled;
use crate::codec::body_pace::Pace;
use crate::content::spool::{Spool, Spooled, IN_MEMORY};
use crate::pipeline::{Gathered, Gone, RequestContext, TOO_LARGE};
use mehari_http::http1::chunked::Decoder;
use mehari_http::http1::head::Framing;
use mehari_http::problem::Problem;
use mehari_net::deadline::Phase;
use mehari_net::socket::Stream;
use std::io;
use std::time::Duration;

/// The size in bytes up to which an unwanted body is read, so that the connection can be kept.
const SKIPPED: u64 = 64 * 1024;
/// Bytes per read of a large body.
const CHUNK: usize = 64 * 1024;

const TOO_SLOW: Problem = Problem::malformed(408, "the client stopped sending");
const CUT_OFF: Problem = Problem::malformed(400, "the client closed before its body ended");

impl<S: Stream> Connection<S> {
    /// Reads the body for a program: at most `limit` bytes, or any number if `limit` is 0. The
    /// inner error says why the request is refused. The rest of the body is then unread.
    pub(super) async fn gather(&mut self, limit: u64) -> Result<Result<Gathered, Problem>, Gone> {
        let limit = if limit == 0 { u64::MAX } else { limit };
        match self.head.framing {
            Framing::None => Ok(Ok(Gathered::Empty)),
            Framing::Length(length) if length > limit => Ok(Err(TOO_LARGE)),
            Framing::Length(length) => {
                self.invite_body().await?;
                if length <= IN_MEMORY as u64 {
                    self.read_small(length as usize).await
                } else {
                    self.read_large(length).await
                }
            }
            Framing::Chunked => {
                self.invite_body().await?;
                self.read_chunked(limit).await
            }
        }
    }

    /// Reads a small body before scripts run. The body stays in the input buffer, and the context
    /// gets a copy.
    pub(super) async fn gather_for_scripts(
        &mut self,
        context: &mut RequestContext,
    ) -> Result<Result<(), Problem>, Gone> {
        let length = match self.head.framing {
            Framing::None => 0,
            Framing::Length(length) if length <= IN_MEMORY as u64 => length as usize,
            _ => return Ok(Ok(())),
        };
        if length > 0 {
            self.invite_body().await?;
            if let Err(problem) = self.read_small(length).await? {
                return Ok(Err(problem));
            }
            self.guard
                .enter(&self.shared.clock, Phase::Work, Duration::MAX);
        }
        let body = &self.input.bytes()[self.head.length..][..length];
        context.small_body = Some(body.to_vec());
        Ok(Ok(()))
    }

    /// Discards an unwanted body. The connection closes if the body is longer than [`SKIPPED`].
    pub(super) async fn skip_body(&mut self) -> Result<(), Gone> {
        if !self.owes_body {
            return Ok(());
        }
        let waits = self.head.expects_continue && self.input.bytes().len() == self.head.length;
        let skipped = match self.head.framing {
            _ if waits => false,
            Framing::Length(length) if length > SKIPPED => false,
            _ => match self.gather(SKIPPED).await? {
                Ok(Gathered::Buffered(length)) => {
                    self.cut_body(length);
                    true
                }
                Ok(_) => true,
                Err(_) => false,
            },
        };
        self.owes_body = !skipped;
        Ok(())
    }

    /// Sends `100 Continue` if the client waits for it.
    async fn invite_body(&mut self) -> Result<(), Gone> {
        if self.head.expects_continue && self.input.bytes().len() == self.head.length {
            self.output
                .bytes
                .extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
            self.flush().await?;
        }
        let already = self.input.bytes().len() - self.head.length;
        let pace = Pace::begin(&self.shared.clock);
        self.pace = pace.tracking(self.tracked.take(), already);
        self.await_body();
        Ok(())
    }

    /// Sets the deadline for the next bytes of a body.
    fn await_body(&self) {
        let limit = self
            .pace
            .limit(&self.shared.clock, &self.shared.site().limits);
        self.guard.enter(&self.shared.clock, Phase::Body, limit);
    }

    async fn read_small(&mut self, length: usize) -> Result<Result<Gathered, Problem>, Gone> {
        let end = self.head.length + length;
        self.input.reserve(end);
        while self.input.bytes().len() < end {
            if let Some(problem) = self.fill_body().await? {
                return Ok(Err(problem));
            }
        }
        Ok(Ok(Gathered::Buffered(length)))
    }

    async fn read_large(&mut self, length: u64) -> Result<Result<Gathered, Problem>, Gone> {
        let mut spool = Spool::default();
        loop {
            let left = length - spool.length();
            let body = &self.input.bytes()[self.head.length..];
            let take = left.min(body.len() as u64) as usize;
            spool.memory().extend_from_slice(&body[..take]);
            self.cut_body(take);
            if let Err(error) = spool.settle().await {
                return Ok(Err(self.shared.cannot_spool(&error)));
            }
            if spool.length() == length {
                let gathered = gathered(spool).await;
                return Ok(gathered.map_err(|error| self.shared.cannot_spool(&error)));
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
            if let Err(error) = spool.settle().await {
                return Ok(Err(self.shared.cannot_spool(&error)));
            }
            if decoder.is_done() {
                let gathered = gathered(spool).await;
                return Ok(gathered.map_err(|error| self.shared.cannot_spool(&error)));
            }
            if let Some(problem) = self.fill_body().await? {
                return Ok(Err(problem));
            }
        }
    }

    /// Removes the first `count` bytes of the body from the input.
    fn cut_body(&mut self, count: usize) {
        self.input.cut(self.head.length, count);
    }

    /// Reads more of a body. Arriving bytes extend the deadline if the client keeps the minimum
    /// rate.
    async fn fill_body(&mut self) -> Result<Option<Problem>, Gone> {
        if self.client_ended {
            return Ok(Some(CUT_OFF));
        }
        if !matches!(self.head.framing, Framing::Length(length) if length <= IN_MEMORY as u64) {
            self.input.reserve(self.head.length + CHUNK);
        }
        let before = self.input.bytes().len();
        match self.fill().await? {
            Filled::Some => {
                self.pace.count(self.input.bytes().len() - before);
                self.await_body();
                Ok(None)
            }
            Filled::Late => {
                self.shared.note_slow(&self.peer, "body");
                Ok(Some(TOO_SLOW))
            }
            Filled::End => {
                self.client_ended = true;
                Ok(Some(CUT_OFF))
            }
        }
    }
}

async fn gathered(spool: Spool) -> io::Result<Gathered> {
    Ok(match spool.finish().await? {
        Spooled::Memory(memory) => Gathered::Memory(memory),
        Spooled::File(file, length) => Gathered::File(file, length),
    })
}

//! Reads the body of a stream's request.

use super::stream::Stream;
use crate::codec::body_pace::Pace;
use crate::content::spool::{Spool, Spooled, IN_MEMORY};
use crate::pipeline::{Gathered, Gone, RequestContext, TOO_LARGE};
use bytes::Bytes;
use h2::RecvStream;
use mehari_http::problem::Problem;
use mehari_net::deadline::{Interrupt, Phase};
use std::future::poll_fn;
use std::task::{Context, Poll};

const TOO_SLOW: Problem = Problem::malformed(408, "the client stopped sending");

impl Stream {
    /// Reads a small body early for scripts.
    pub(super) async fn gather_for_scripts(
        &mut self,
        context: &mut RequestContext,
    ) -> Result<Result<(), Problem>, Gone> {
        let length = self.head.length();
        let is_small = (1..=IN_MEMORY as u64).contains(&length);
        let Some(body) = self.body.take_if(|body| body.is_end_stream() || is_small) else {
            return Ok(Ok(()));
        };
        Ok(match self.read_all(body, length).await? {
            Ok(Spooled::Memory(bytes)) => {
                context.small_body = Some(bytes);
                Ok(())
            }
            // This cannot happen: the body is no longer than its Content-Length, which is small.
            Ok(Spooled::File(..)) => Err(TOO_LARGE),
            Err(problem) => Err(problem),
        })
    }

    /// Reads the body for a program. If scripts have had the body read, returns their copy.
    pub(super) async fn gather(
        &mut self,
        context: &RequestContext,
        limit: u64,
    ) -> Result<Result<Gathered, Problem>, Gone> {
        if let Some(body) = self.body.take() {
            let spooled = self.read_all(body, limit).await?;
            return Ok(spooled.map(gathered));
        }
        let bytes = context.small_body.clone().unwrap_or_default();
        if let Some(upload) = self.tracked.take() {
            upload.count(bytes.len());
        }
        Ok(if limit > 0 && bytes.len() as u64 > limit {
            Err(TOO_LARGE)
        } else {
            Ok(gathered(Spooled::Memory(bytes)))
        })
    }

    async fn read_all(
        &mut self,
        mut body: RecvStream,
        limit: u64,
    ) -> Result<Result<Spooled, Problem>, Gone> {
        let largest = if limit == 0 { u64::MAX } else { limit };
        self.tell_to_continue(&body)?;
        let mut spool = Spool::default();
        let mut pace = Pace::begin(&self.shared.clock).tracking(self.tracked.take(), 0);
        loop {
            let limit = pace.limit(&self.shared.clock, &self.shared.site().limits);
            self.own_guard()
                .enter(&self.shared.clock, Phase::Body, limit);
            let piece = match poll_fn(|cx| self.poll_piece(cx, &mut body)).await? {
                Piece::Data(bytes) => bytes,
                Piece::End => break,
                Piece::Late => {
                    self.shared.note_slow(&self.peer, "body");
                    return Ok(Err(TOO_SLOW));
                }
            };
            pace.count(piece.len());
            spool.memory().extend_from_slice(&piece);
            if spool.length() > largest {
                return Ok(Err(TOO_LARGE));
            }
            if let Err(error) = spool.settle().await {
                return Ok(Err(self.shared.cannot_spool(&error)));
            }
            body.flow_control()
                .release_capacity(piece.len())
                .map_err(|_| Gone)?;
        }
        let spooled = spool.finish().await;
        Ok(spooled.map_err(|error| self.shared.cannot_spool(&error)))
    }

    /// Sends 100 to a client that waits for it before it sends the body (RFC 9110 section 10.1.1).
    fn tell_to_continue(&mut self, body: &RecvStream) -> Result<(), Gone> {
        let mut expected = self.head.fields().iter();
        if body.is_end_stream() || !expected.any(|(name, _)| name.eq_ignore_ascii_case(b"expect")) {
            return Ok(());
        }
        let mut response = http::Response::new(());
        *response.status_mut() = http::StatusCode::CONTINUE;
        self.respond.send_informational(response).map_err(|_| Gone)
    }

    fn poll_piece(&self, cx: &mut Context<'_>, body: &mut RecvStream) -> Poll<Result<Piece, Gone>> {
        match body.poll_data(cx) {
            Poll::Ready(None) => return Poll::Ready(Ok(Piece::End)),
            Poll::Ready(Some(Ok(bytes))) => return Poll::Ready(Ok(Piece::Data(bytes))),
            Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(Gone)),
            Poll::Pending => {}
        }
        match self.own_guard().poll_interrupt(cx) {
            Some(Interrupt::TimedOut) => Poll::Ready(Ok(Piece::Late)),
            Some(Interrupt::Abort) => Poll::Ready(Err(Gone)),
            _ => Poll::Pending,
        }
    }
}

fn gathered(spooled: Spooled) -> Gathered {
    match spooled {
        Spooled::Memory(bytes) if bytes.is_empty() => Gathered::Empty,
        Spooled::Memory(bytes) => Gathered::Memory(bytes),
        Spooled::File(file, length) => Gathered::File(file, length),
    }
}

enum Piece {
    Data(Bytes),
    End,
    Late,
}

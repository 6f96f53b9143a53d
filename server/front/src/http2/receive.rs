//! The body of a stream's request.

use super::stream::{Gone, Stream};
use crate::deadline::{Alarm, Phase};
use crate::dispatch::Dispatch;
use crate::pace::Pace;
use crate::problem::Problem;
use crate::spool::{Spool, Spooled, IN_MEMORY};
use crate::turn::Turn;
use bytes::Bytes;
use h2::RecvStream;
use std::future::poll_fn;
use std::task::{Context, Poll};

const TOO_LARGE: Problem = Problem::malformed(413, "the body is larger than LimitRequestBody");
const TOO_SLOW: Problem = Problem::malformed(408, "the client stopped sending");

impl<D: Dispatch> Stream<D> {
    /// Reads a small body before its time: scripts may ask for it. What is given back is still to be read.
    pub(super) async fn read_for_scripts(
        &mut self,
        turn: &mut Turn,
        length: u64,
        body: RecvStream,
    ) -> Result<Result<Option<RecvStream>, Problem>, Gone> {
        if !body.is_end_stream() && !(1..=IN_MEMORY as u64).contains(&length) {
            return Ok(Ok(Some(body)));
        }
        Ok(match self.read_all(body, length).await? {
            Ok(Spooled::Memory(bytes)) => {
                turn.small_body = Some(bytes);
                Ok(None)
            }
            // It is no longer than its length, and that is little.
            Ok(Spooled::File(..)) => Err(TOO_LARGE),
            Err(problem) => Err(problem),
        })
    }

    /// Reads the body for a program. `None`: scripts have had it read.
    pub(super) async fn read_body(
        &mut self,
        turn: &Turn,
        body: Option<RecvStream>,
        limit: u64,
    ) -> Result<Result<Spooled, Problem>, Gone> {
        if let Some(body) = body {
            return self.read_all(body, limit).await;
        }
        let bytes = turn.small_body.clone().unwrap_or_default();
        if let Some(upload) = self.tracked.take() {
            upload.count(bytes.len());
        }
        Ok(match limit > 0 && bytes.len() as u64 > limit {
            true => Err(TOO_LARGE),
            false => Ok(Spooled::Memory(bytes)),
        })
    }

    async fn read_all(
        &mut self,
        mut body: RecvStream,
        limit: u64,
    ) -> Result<Result<Spooled, Problem>, Gone> {
        let largest = if limit == 0 { u64::MAX } else { limit };
        let mut spool = Spool::default();
        let mut pace = Pace::begin(&self.shared.clock).tracking(self.tracked.take(), 0);
        loop {
            let limit = pace.limit(&self.shared.clock, &self.shared.site().limits);
            self.seat().enter(&self.shared.clock, Phase::Body, limit);
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

    fn poll_piece(&self, cx: &mut Context<'_>, body: &mut RecvStream) -> Poll<Result<Piece, Gone>> {
        match body.poll_data(cx) {
            Poll::Ready(None) => return Poll::Ready(Ok(Piece::End)),
            Poll::Ready(Some(Ok(bytes))) => return Poll::Ready(Ok(Piece::Data(bytes))),
            Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(Gone)),
            Poll::Pending => {}
        }
        match self.seat().poll_alarm(cx) {
            Some(Alarm::Late) => Poll::Ready(Ok(Piece::Late)),
            Some(Alarm::Abandon) => Poll::Ready(Err(Gone)),
            _ => Poll::Pending,
        }
    }
}

enum Piece {
    Data(Bytes),
    End,
    Late,
}

//! Sending: what is gathered, answers that are there, and the log line at the end.

use super::connection::{Connection, Current, Gone};
use super::reply::{Length, Reply};
use crate::answer::{Answer, Content};
use crate::deadline::{Alarm, Phase};
use crate::dispatch::Dispatch;
use crate::handler::lua::{self, LateRequest, Response};
use crate::header_rules;
use crate::request::Request;
use crate::socket::Stream;
use crate::status;
use crate::turn::Turn;
use mehari_config::LogLevel;
use std::future::poll_fn;
use std::task::{Context, Poll};

/// Beyond this the answers of pipelined requests leave before the next is begun.
const GATHERED: usize = 64 * 1024;
/// A body that costs more to copy than a call of the system.
const LONG: usize = 16 * 1024;

impl<S: Stream, D: Dispatch> Connection<S, D> {
    /// Writes all that is gathered.
    pub(super) async fn flush(&mut self) -> Result<(), Gone> {
        if self.output.pending() == 0 {
            return Ok(());
        }
        let mut waits = false;
        poll_fn(|cx| loop {
            match self.output.poll_write(cx, &mut self.socket) {
                Poll::Ready(Ok(true)) => return Poll::Ready(Ok(())),
                Poll::Ready(Ok(false)) => waits = false,
                Poll::Ready(Err(_)) => return Poll::Ready(Err(Gone)),
                Poll::Pending => return self.poll_stalled(cx, &mut waits),
            }
        })
        .await
    }

    /// The same, when a piece of a file follows at once: both may leave together.
    pub(super) async fn flush_before_more(&mut self) -> Result<(), Gone> {
        let mut waits = false;
        poll_fn(|cx| loop {
            match self.output.poll_write_before_more(cx, &mut self.socket) {
                Poll::Ready(Ok(true)) => return Poll::Ready(Ok(())),
                Poll::Ready(Ok(false)) => waits = false,
                Poll::Ready(Err(_)) => return Poll::Ready(Err(Gone)),
                Poll::Pending => return self.poll_stalled(cx, &mut waits),
            }
        })
        .await
    }

    /// The client takes nothing: it has the write limit's time, from the last byte it took.
    pub(super) fn poll_stalled(
        &self,
        cx: &mut Context<'_>,
        waits: &mut bool,
    ) -> Poll<Result<(), Gone>> {
        if !std::mem::replace(waits, true) {
            let limit = self.shared.site().limits.write_timeout;
            self.seat.enter(&self.shared.clock, Phase::Write, limit);
        }
        match self.seat.poll_alarm(cx) {
            None | Some(Alarm::Leave) => Poll::Pending,
            Some(Alarm::Late | Alarm::Abandon) => Poll::Ready(Err(Gone)),
        }
    }

    pub(super) async fn send_answer(
        &mut self,
        turn: &mut Current,
        mut answer: Answer,
    ) -> Result<(), Gone> {
        if turn.is_seen_by_scripts() {
            let said = self.scripted(turn, answer.status, answer.lines()).await;
            answer = match said {
                None => answer,
                Some(Response {
                    instead: Some(instead),
                    ..
                }) => instead,
                Some(Response { status, lines, .. }) => answer.with_head(status, lines),
            };
        }
        turn.status = answer.status;
        let length = match status::has_no_body(answer.status) {
            true => Length::Unsaid,
            false => Length::Known(answer.content.length()),
        };
        let changed = self.changed_lines(turn, answer.status, answer.lines());
        let [first, second] = match &changed {
            None => answer.lines(),
            Some(changed) => [&changed[..], &[]],
        };
        let reply = Reply {
            status: answer.status,
            lines: [first, second, turn.own_lines(&self.peer)],
            has_date: turn.is_dated([first, second]),
            has_server: false,
            length,
            protocol: turn.protocol,
            keep: turn.keep,
            time: turn.time,
        };
        let start = self.output.bytes.len();
        reply.push(&self.shared.clock, &mut self.output.bytes);
        turn.promised = match length {
            Length::Known(length) => length,
            _ => 0,
        };
        turn.turn
            .note_head(&self.shared, &self.output.bytes[start..]);
        if turn.is_head || length == Length::Unsaid {
            return self.flush_if_large().await;
        }
        match answer.content {
            Content::Bytes(bytes) => self.send_bytes(turn, &bytes).await,
            Content::Cached(resource) => self.send_bytes(turn, resource.body()).await,
            Content::Shared(bytes) => self.send_bytes(turn, &bytes).await,
            Content::File(body) => self.send_file(turn, *body).await,
        }
    }

    /// A short body leaves with what else is gathered, a long one at once: it is not copied for that.
    async fn send_bytes(&mut self, turn: &mut Current, bytes: &[u8]) -> Result<(), Gone> {
        if bytes.len() < LONG {
            self.output.bytes.extend_from_slice(bytes);
            turn.sent += bytes.len() as u64;
            return self.flush_if_large().await;
        }
        let mut left = bytes;
        let mut waits = false;
        poll_fn(|cx| loop {
            match self.output.poll_write_with(cx, &mut self.socket, left) {
                Poll::Ready(Ok(count)) => {
                    turn.sent += count as u64;
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

    /// What scripts make of a head.
    pub(super) async fn scripted(
        &self,
        turn: &mut Current,
        status: u16,
        lines: [&[u8]; 2],
    ) -> Option<Response> {
        let asked = self.head.target(self.input.bytes());
        let look = |turn: &Turn, what: &mut dyn FnMut(&LateRequest<'_>)| {
            self.with_late_request(turn, what)
        };
        lua::respond(&self.shared, &mut turn.turn, asked, look, (status, lines)).await
    }

    /// The header lines as the configuration's rules leave them; `None`: as they are.
    pub(super) fn changed_lines(
        &self,
        turn: &Current,
        status: u16,
        lines: [&[u8]; 2],
    ) -> Option<Vec<u8>> {
        let ask = |use_it: &mut dyn FnMut(&Request<'_>)| {
            self.with_request(turn, |request| use_it(request))
        };
        header_rules::of_response(&self.shared, turn, ask, status, lines)
    }

    pub(super) async fn flush_if_large(&mut self) -> Result<(), Gone> {
        match self.output.pending() > GATHERED {
            true => self.flush().await,
            false => Ok(()),
        }
    }

    pub(super) fn log(&self, turn: &Current, text: &str) {
        let target = self.head.target(self.input.bytes());
        turn.log(&self.shared, LogLevel::Error, target, text);
    }

    pub(super) fn record(&self, turn: &Current) {
        let bytes = self.input.bytes();
        let line =
            (self.head.length > 0).then(|| (self.head.method.of(bytes), self.head.target(bytes)));
        let fields = self.head.fields.iter();
        let fields = fields.map(|(name, value)| (name.of(bytes), value.of(bytes)));
        turn.end(&self.shared, &self.peer, line, fields);
    }
}

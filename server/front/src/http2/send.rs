//! A stream's response when it is there; `program` sends what comes bit by bit.

use super::head::Head;
use super::stream::{Gone, Stream};
use crate::answer::{Answer, Content};
use crate::deadline::{Alarm, Phase};
use crate::dispatch::Dispatch;
use crate::handler::file::body::{FileBody, WINDOW};
use crate::handler::lua::{self, LateRequest, Response as Scripted};
use crate::header_rules;
use crate::lines;
use crate::request::Request;
use crate::status;
use crate::turn::Turn;
use bytes::Bytes;
use h2::SendStream;
use http::{header, HeaderMap, HeaderValue, Response};
use mehari_config::LogLevel;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

/// Room for those of a usual response.
const FIELDS: usize = 12;

impl<D: Dispatch> Stream<D> {
    pub(super) async fn send_answer(
        &mut self,
        turn: &mut Turn,
        head: &Head,
        mut answer: Answer,
    ) -> Result<(), Gone> {
        if turn.is_seen_by_scripts() {
            let said = self
                .scripted(turn, head, answer.status, answer.lines())
                .await;
            answer = match said {
                None => answer,
                Some(Scripted {
                    instead: Some(instead),
                    ..
                }) => instead,
                Some(Scripted { status, lines, .. }) => answer.with_head(status, lines),
            };
        }
        let Some(mut stream) = self.send_head(turn, head, &answer)? else {
            return Ok(());
        };
        match answer.content {
            Content::Bytes(bytes) => self.send(turn, &mut stream, bytes.into(), true).await,
            Content::Cached(resource) => self.send(turn, &mut stream, resource.bytes(), true).await,
            Content::Shared(bytes) => self.send(turn, &mut stream, bytes, true).await,
            Content::File(body) => self.send_file(turn, head, &mut stream, *body).await,
        }
    }

    /// Sends a file as the client's window allows: nothing of it is read for a client that takes nothing.
    async fn send_file(
        &mut self,
        turn: &mut Turn,
        head: &Head,
        stream: &mut SendStream<Bytes>,
        mut body: FileBody,
    ) -> Result<(), Gone> {
        loop {
            let wanted = body.length().clamp(1, WINDOW as u64) as usize;
            let room = self.room(stream, wanted).await?;
            let mut window = Vec::new();
            let more = body.read(&mut window, room).await;
            let more = more.map_err(|error| {
                let text = format!("a file became unreadable while it was sent: {error}");
                self.log(turn, head, &text);
                Gone
            })?;
            self.send(turn, stream, window.into(), !more).await?;
            if !more {
                return Ok(());
            }
        }
    }

    /// What scripts make of a head.
    pub(super) async fn scripted(
        &self,
        turn: &mut Turn,
        head: &Head,
        status: u16,
        lines: [&[u8]; 2],
    ) -> Option<Scripted> {
        let look = |turn: &Turn, what: &mut dyn FnMut(&LateRequest<'_>)| {
            self.with_late_request(turn, head, what)
        };
        let asked = head.target();
        lua::respond(&self.shared, turn, asked, look, (status, lines)).await
    }

    /// Sends the head; `None`: the answer has no body.
    pub(super) fn send_head(
        &mut self,
        turn: &mut Turn,
        head: &Head,
        answer: &Answer,
    ) -> Result<Option<SendStream<Bytes>>, Gone> {
        turn.status = answer.status;
        let bodiless = status::has_no_body(answer.status);
        let length = (!bodiless).then(|| answer.content.length());
        let changed = self.changed_lines(turn, head, answer.status, answer.lines());
        let fields = match (&answer.content, &changed) {
            (Content::Cached(resource), None) => {
                let mut fields = resource.fields().clone();
                lines::push_fields(&mut fields, &answer.lines);
                fields
            }
            (_, None) => fields_of(&answer.lines),
            (_, Some(changed)) => fields_of(changed),
        };
        turn.promised = length.unwrap_or(0);
        let has_date = turn.cached.get().is_kept() && fields.contains_key(header::DATE);
        let mut response = self.response(turn, fields, has_date, false)?;
        push_length(&mut response, length);
        let ends = bodiless || turn.is_head || length == Some(0);
        let stream = self.respond.send_response(response, ends);
        let stream = stream.map_err(|_| Gone)?;
        Ok((!ends).then_some(stream))
    }

    /// The header lines as the configuration's rules leave them; `None`: as they are.
    pub(super) fn changed_lines(
        &self,
        turn: &Turn,
        head: &Head,
        status: u16,
        lines: [&[u8]; 2],
    ) -> Option<Vec<u8>> {
        let ask = |use_it: &mut dyn FnMut(&Request<'_>)| {
            self.with_request(turn, head, |request| use_it(request))
        };
        header_rules::of_response(&self.shared, turn, ask, status, lines)
    }

    /// Sends as the client's window allows. A client that grants nothing has the write limit's time.
    pub(super) async fn send(
        &mut self,
        turn: &mut Turn,
        stream: &mut SendStream<Bytes>,
        mut bytes: Bytes,
        last: bool,
    ) -> Result<(), Gone> {
        if bytes.is_empty() {
            return match last {
                true => stream.send_data(bytes, true).map_err(|_| Gone),
                false => Ok(()),
            };
        }
        while !bytes.is_empty() {
            let room = self.room(stream, bytes.len()).await?;
            let piece = bytes.split_to(room.min(bytes.len()));
            turn.sent += piece.len() as u64;
            stream
                .send_data(self.outgoing.count(piece), last && bytes.is_empty())
                .map_err(|_| Gone)?;
        }
        self.seat()
            .enter(&self.shared.clock, Phase::Work, Duration::MAX);
        Ok(())
    }

    /// Waits until some of `wanted` bytes may be sent; how many.
    async fn room(&mut self, stream: &mut SendStream<Bytes>, wanted: usize) -> Result<usize, Gone> {
        let limit = self.shared.site().limits.write_timeout;
        self.seat().enter(&self.shared.clock, Phase::Write, limit);
        let mut rounds = self.outgoing.rounds();
        poll_fn(|cx| {
            if std::mem::replace(&mut rounds, self.outgoing.rounds()) != rounds {
                // The client takes bytes, if those of other streams.
                self.seat().enter(&self.shared.clock, Phase::Write, limit);
            }
            if self.outgoing.poll_room(cx).is_pending() {
                return self.poll_late(cx);
            }
            stream.reserve_capacity(wanted);
            self.poll_room(cx, stream)
        })
        .await
    }

    fn poll_room(
        &self,
        cx: &mut Context<'_>,
        stream: &mut SendStream<Bytes>,
    ) -> Poll<Result<usize, Gone>> {
        while stream.capacity() == 0 {
            match stream.poll_capacity(cx) {
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(_) => return Poll::Ready(Err(Gone)),
                Poll::Pending => return self.poll_late(cx),
            }
        }
        Poll::Ready(Ok(stream.capacity()))
    }

    fn poll_late(&self, cx: &mut Context<'_>) -> Poll<Result<usize, Gone>> {
        match self.seat().poll_alarm(cx) {
            Some(Alarm::Late | Alarm::Abandon) => Poll::Ready(Err(Gone)),
            _ => Poll::Pending,
        }
    }

    pub(super) fn response(
        &self,
        turn: &mut Turn,
        mut fields: HeaderMap,
        has_date: bool,
        has_server: bool,
    ) -> Result<Response<()>, Gone> {
        if !has_server {
            fields.insert(header::SERVER, HeaderValue::from_static("Mehari"));
        }
        if !has_date {
            fields.insert(header::DATE, self.shared.clock.date(turn.time));
        }
        lines::push_fields(&mut fields, turn.own_lines(&self.peer));
        let mut response = Response::new(());
        *response.status_mut() = http::StatusCode::from_u16(turn.status).map_err(|_| Gone)?;
        *response.headers_mut() = fields;
        self.note_head(turn, &response);
        Ok(response)
    }

    /// The header as it would be in HTTP/1, for logs that want it.
    fn note_head(&self, turn: &mut Turn, response: &Response<()>) {
        let fields = response.headers().iter();
        if !self.shared.log_needs.get().response_fields && !turn.is_heard() {
            turn.note_head(&self.shared, &[]);
            let lengths = fields.map(|(name, value)| name.as_str().len() + value.len() + 4);
            turn.head_bytes = lengths.sum::<usize>() as u64;
            return;
        }
        let mut lines = Vec::new();
        for (name, value) in fields {
            lines.extend_from_slice(name.as_str().as_bytes());
            lines.extend_from_slice(b": ");
            lines.extend_from_slice(value.as_bytes());
            lines.extend_from_slice(b"\r\n");
        }
        turn.note_head(&self.shared, &lines);
    }

    pub(super) fn log(&self, turn: &Turn, head: &Head, text: &str) {
        turn.log(&self.shared, LogLevel::Error, head.target(), text);
    }
}

pub(super) fn push_length(response: &mut Response<()>, length: Option<u64>) {
    if let Some(length) = length {
        let fields = response.headers_mut();
        fields.insert(header::CONTENT_LENGTH, length.into());
    }
}

pub(super) fn fields_of(lines: &[u8]) -> HeaderMap {
    let mut fields = HeaderMap::with_capacity(FIELDS);
    lines::push_fields(&mut fields, lines);
    fields
}

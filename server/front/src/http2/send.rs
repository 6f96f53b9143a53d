//! A stream's response: answers that are there, and what a program says.

use super::stream::{Gone, Head, Stream};
use crate::answer::{Answer, Content};
use crate::deadline::{Alarm, Phase};
use crate::dispatch::Dispatch;
use crate::handler::Backend;
use crate::lines::{self, Lines};
use crate::status;
use crate::turn::Turn;
use crate::work::{self, Work};
use bytes::Bytes;
use h2::SendStream;
use http::{HeaderName, HeaderValue, Response};
use mehari_config::LogLevel;
use mehari_pool::script_head::ScriptHead;
use mehari_pool::Fault;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

/// Taken from a program at a time.
const ROOM: usize = 64 * 1024;

impl<D: Dispatch> Stream<D> {
    pub(super) async fn send_answer(
        &mut self,
        turn: &mut Turn,
        head: &Head,
        answer: Answer,
    ) -> Result<(), Gone> {
        turn.status = answer.status;
        let bodiless = status::has_no_body(answer.status);
        let length = (!bodiless).then(|| answer.content.length());
        let [first, second] = answer.lines();
        let mut response = self.response(turn, first, false, false)?;
        push_lines(&mut response, second)?;
        push_length(&mut response, length);
        let ends = bodiless || turn.is_head || length == Some(0);
        let mut stream = self
            .respond
            .send_response(response, ends)
            .map_err(|_| Gone)?;
        if ends {
            return Ok(());
        }
        match answer.content {
            Content::Bytes(bytes) => self.send(turn, &mut stream, bytes.into(), true).await,
            Content::Cached(resource) => {
                let bytes = Bytes::copy_from_slice(resource.body());
                self.send(turn, &mut stream, bytes, true).await
            }
            Content::File(mut body) => loop {
                let mut window = Vec::new();
                let more = body.read(&mut window).await;
                let more = more.map_err(|error| {
                    let text = format!("a file became unreadable while it was sent: {error}");
                    self.log(turn, head, &text);
                    Gone
                })?;
                self.send(turn, &mut stream, window.into(), !more).await?;
                if !more {
                    return Ok(());
                }
            },
        }
    }

    /// Sends what a program says. Work instead of `None`: something else has to answer.
    pub(super) async fn send_backend(
        &mut self,
        turn: &mut Turn,
        head: &Head,
        backend: &mut Backend<D::Exchange>,
    ) -> Result<Option<Work<D>>, Gone> {
        let mut said = match poll_fn(|cx| self.poll_head(cx, backend)).await? {
            Ok(ScriptHead::Response(said)) => said,
            Ok(ScriptHead::LocalRedirect(target)) => return Ok(Some(Work::Elsewhere(target, 200))),
            Err(fault) => {
                turn.credit(backend);
                self.log(turn, head, &fault.to_string());
                return Ok(Some(self.page(turn, head, fault.status())));
            }
        };
        said.status = turn.status_for(said.status);
        match lines::examine(&said.lines) {
            Ok(lines) if (200..=999).contains(&said.status) => {
                self.send_program(turn, head, backend, said, lines).await?;
                Ok(None)
            }
            other => {
                let problem = other.err().unwrap_or("a status outside 200 to 999");
                let text = format!("the program's response has {problem}; answered 500");
                self.log(turn, head, &text);
                Ok(Some(self.page(turn, head, 500)))
            }
        }
    }

    /// Waits for the head; a stream that the client resets ends it all.
    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        backend: &mut Backend<D::Exchange>,
    ) -> Poll<Result<Result<ScriptHead, Fault>, Gone>> {
        let said = backend.poll_head(cx);
        while let Some(interim) = backend.take_interim() {
            self.send_interim(&interim)?;
        }
        if let Poll::Ready(said) = said {
            return Poll::Ready(Ok(said));
        }
        let reset = self.respond.poll_reset(cx).is_ready();
        match self.seat.poll_alarm(cx) {
            Some(Alarm::Abandon) => Poll::Ready(Err(Gone)),
            _ if reset => Poll::Ready(Err(Gone)),
            _ => Poll::Pending,
        }
    }

    fn send_interim(&mut self, interim: &mehari_pool::Head) -> Result<(), Gone> {
        if !(102..200).contains(&interim.status) || lines::examine(&interim.lines).is_err() {
            return Ok(());
        }
        let mut response = Response::new(());
        *response.status_mut() = http::StatusCode::from_u16(interim.status).map_err(|_| Gone)?;
        push_lines(&mut response, &interim.lines)?;
        self.respond.send_informational(response).map_err(|_| Gone)
    }

    fn page(&self, turn: &Turn, head: &Head, status: u16) -> Work<D> {
        self.with_request(turn, head, |request| {
            work::refusal(&self.shared, request, turn.settings.as_deref(), status)
        })
    }

    async fn send_program(
        &mut self,
        turn: &mut Turn,
        head: &Head,
        backend: &mut Backend<D::Exchange>,
        said: mehari_pool::Head,
        lines: Lines,
    ) -> Result<(), Gone> {
        turn.status = said.status;
        let mut kept = Vec::new();
        lines.push_kept(&said.lines, &mut kept);
        let mut response = self.response(turn, &kept, said.has_date, said.has_server)?;
        let bodiless = status::has_no_body(said.status);
        let length = lines
            .content_length
            .or(said.content_length)
            .filter(|_| !bodiless);
        push_length(&mut response, length);
        let silent = bodiless || turn.is_head;
        let mut stream = self
            .respond
            .send_response(response, silent)
            .map_err(|_| Gone)?;
        loop {
            let mut piece = Vec::new();
            let taken = poll_fn(|cx| self.poll_take(cx, backend, &mut stream, &mut piece)).await?;
            let more = taken.map_err(|fault| {
                turn.credit(backend);
                self.log(turn, head, &format!("cut off within its response: {fault}"));
                Gone
            })?;
            let room = length.map_or(u64::MAX, |length| length - turn.sent);
            let cut = !silent && piece.len() as u64 > room;
            if cut {
                piece.truncate(room as usize);
                let text = "the program sent more than its Content-Length; cut";
                self.log(turn, head, text);
            }
            if !silent && !more && (piece.len() as u64) < room && length.is_some() {
                self.log(turn, head, "the program sent less than its Content-Length");
                return Err(Gone);
            }
            let more = more && !cut;
            if !silent {
                self.send(turn, &mut stream, piece.into(), !more).await?;
            }
            if !more {
                return Ok(());
            }
        }
    }

    fn poll_take(
        &self,
        cx: &mut Context<'_>,
        backend: &mut Backend<D::Exchange>,
        stream: &mut SendStream<Bytes>,
        piece: &mut Vec<u8>,
    ) -> Poll<Result<Result<bool, Fault>, Gone>> {
        // Clients count small frames as a flood: what has come goes together.
        while piece.len() < ROOM {
            match backend.poll_body(cx, piece, ROOM) {
                Poll::Ready(Ok(true)) => {}
                Poll::Ready(taken) => return Poll::Ready(Ok(taken)),
                Poll::Pending if piece.is_empty() => return self.poll_reset(cx, stream),
                Poll::Pending => break,
            }
        }
        Poll::Ready(Ok(Ok(true)))
    }

    /// Nothing to send: a client that resets the stream has no more use for it.
    fn poll_reset<T>(
        &self,
        cx: &mut Context<'_>,
        stream: &mut SendStream<Bytes>,
    ) -> Poll<Result<T, Gone>> {
        let reset = stream.poll_reset(cx).is_ready();
        match self.seat.poll_alarm(cx) {
            Some(Alarm::Abandon) => Poll::Ready(Err(Gone)),
            _ if reset => Poll::Ready(Err(Gone)),
            _ => Poll::Pending,
        }
    }

    /// Sends as the client's window allows. A client that grants nothing has the write limit's time.
    async fn send(
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
        let limit = self.shared.site().limits.write_timeout;
        while !bytes.is_empty() {
            self.seat.enter(&self.shared.clock, Phase::Write, limit);
            stream.reserve_capacity(bytes.len());
            let room = poll_fn(|cx| self.poll_room(cx, stream)).await?;
            let piece = bytes.split_to(room.min(bytes.len()));
            turn.sent += piece.len() as u64;
            stream
                .send_data(piece, last && bytes.is_empty())
                .map_err(|_| Gone)?;
        }
        self.seat
            .enter(&self.shared.clock, Phase::Work, Duration::MAX);
        Ok(())
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
        match self.seat.poll_alarm(cx) {
            Some(Alarm::Late | Alarm::Abandon) => Poll::Ready(Err(Gone)),
            _ => Poll::Pending,
        }
    }

    fn response(
        &self,
        turn: &Turn,
        lines: &[u8],
        has_date: bool,
        has_server: bool,
    ) -> Result<Response<()>, Gone> {
        let mut response = Response::new(());
        *response.status_mut() = http::StatusCode::from_u16(turn.status).map_err(|_| Gone)?;
        if !has_server {
            push_lines(&mut response, b"server: Mehari\r\n")?;
        }
        if !has_date {
            let mut date = Vec::new();
            self.shared.clock.push_date(turn.time, &mut date);
            push_lines(&mut response, &date)?;
        }
        push_lines(&mut response, lines)?;
        Ok(response)
    }

    pub(super) fn log(&self, turn: &Turn, head: &Head, text: &str) {
        turn.log(&self.shared, LogLevel::Error, head.target.as_bytes(), text);
    }
}

fn push_length(response: &mut Response<()>, length: Option<u64>) {
    if let Some(length) = length {
        response
            .headers_mut()
            .insert("content-length", length.into());
    }
}

/// Lines that have been examined, or that are our own.
fn push_lines(response: &mut Response<()>, lines: &[u8]) -> Result<(), Gone> {
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r\n").unwrap_or(line);
        let Some(colon) = memchr::memchr(b':', line) else {
            continue;
        };
        let name = HeaderName::from_bytes(&line[..colon]).map_err(|_| Gone)?;
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).map_err(|_| Gone)?;
        response.headers_mut().append(name, value);
    }
    Ok(())
}

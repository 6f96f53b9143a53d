//! Sends a stream's response: the head in the library's form, and complete bodies.

use super::stream::Stream;
use crate::content::body::{FileBody, WINDOW};
use crate::pipeline::{BodyLength, ClientStream, Gone, RequestContext, ResponseHead};
use bytes::Bytes;
use http::{header, HeaderMap, HeaderValue, Response};
use mehari_http::header_block;
use mehari_net::deadline::{Interrupt, Phase};
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

/// The number of fields of a usual response.
const FIELDS: usize = 12;

impl Stream {
    /// Sends a file as the client's window allows. The file is read only as fast as the client
    /// takes it.
    pub(super) async fn send_file(
        &mut self,
        context: &mut RequestContext,
        mut body: FileBody,
    ) -> Result<(), Gone> {
        loop {
            let wanted = body.length().clamp(1, WINDOW as u64) as usize;
            let room = self.room(wanted).await?;
            let mut window = Vec::new();
            let more = body.read(&mut window, room).await;
            let more = more.map_err(|error| {
                let text = format!("a file became unreadable while it was sent: {error}");
                self.log(context, &text);
                Gone
            })?;
            self.send(context, window.into(), !more).await?;
            if !more {
                return Ok(());
            }
        }
    }

    /// Sends bytes as the client's window allows. A client may keep its window closed for the time
    /// of the write limit.
    pub(super) async fn send(
        &mut self,
        context: &mut RequestContext,
        mut bytes: Bytes,
        last: bool,
    ) -> Result<(), Gone> {
        if bytes.is_empty() && last {
            return self.sending.as_mut().ok_or(Gone)?.end();
        }
        while !bytes.is_empty() {
            let room = self.room(bytes.len()).await?;
            let piece = bytes.split_to(room.min(bytes.len()));
            context.record.sent += piece.len() as u64;
            let piece = self.outgoing.count(piece);
            let sending = self.sending.as_mut().ok_or(Gone)?;
            sending.send(piece, last && bytes.is_empty())?;
        }
        let clock = &self.shared.clock;
        self.own_guard().enter(clock, Phase::Work, Duration::MAX);
        Ok(())
    }

    /// Waits until some of the `wanted` bytes may be sent. Returns how many bytes the client's
    /// window allows.
    async fn room(&mut self, wanted: usize) -> Result<usize, Gone> {
        let limit = self.shared.site().limits.write_timeout;
        let clock = self.shared.clone();
        let clock = &clock.clock;
        self.own_guard().enter(clock, Phase::Write, limit);
        poll_fn(|cx| {
            let sending = self.sending.as_mut().ok_or(Gone)?;
            if sending.others_got_on(&self.outgoing) {
                // The client reads bytes of other streams, so it is not stalled.
                if let Some(guard) = self.guard.get() {
                    guard.enter(clock, Phase::Write, limit);
                }
            }
            match sending.poll_capacity(cx, &self.outgoing, wanted) {
                Poll::Pending => self.poll_late(cx),
                room => room,
            }
        })
        .await
    }

    fn poll_late(&self, cx: &mut Context<'_>) -> Poll<Result<usize, Gone>> {
        match self.own_guard().poll_interrupt(cx) {
            Some(Interrupt::TimedOut | Interrupt::Abort) => Poll::Ready(Err(Gone)),
            _ => Poll::Pending,
        }
    }

    /// Returns a response's head in the library's form.
    pub(super) fn response(
        &self,
        context: &mut RequestContext,
        head: &ResponseHead<'_>,
    ) -> Result<Response<()>, Gone> {
        let mut fields = match head.resource {
            Some(resource) => resource.fields().clone(),
            None => fields_of(head.lines[0]),
        };
        header_block::push_fields(&mut fields, head.lines[1]);
        if !head.has_server {
            fields.insert(header::SERVER, HeaderValue::from_static("Mehari"));
        }
        if !head.has_date {
            fields.insert(header::DATE, self.shared.clock.date(context.time));
        }
        header_block::push_fields(&mut fields, context.own_lines(&self.peer));
        let mut response = Response::new(());
        *response.status_mut() = http::StatusCode::from_u16(context.status).map_err(|_| Gone)?;
        *response.headers_mut() = fields;
        self.note_head(context, &response);
        if let BodyLength::Known(length) = head.length {
            let fields = response.headers_mut();
            fields.insert(header::CONTENT_LENGTH, length.into());
        }
        Ok(response)
    }

    /// Notes the head as HTTP/1 would send it, for logs and workers that want its fields.
    fn note_head(&self, context: &mut RequestContext, response: &Response<()>) {
        let fields = response.headers().iter();
        if !self.shared.stats.log_needs.get().response_fields && !context.has_listener() {
            context.note_head(&self.shared, &[]);
            let lengths = fields.map(|(name, value)| name.as_str().len() + value.len() + 4);
            context.record.head_bytes = lengths.sum::<usize>() as u64;
            return;
        }
        let mut lines = Vec::new();
        for (name, value) in fields {
            lines.extend_from_slice(name.as_str().as_bytes());
            lines.extend_from_slice(b": ");
            lines.extend_from_slice(value.as_bytes());
            lines.extend_from_slice(b"\r\n");
        }
        context.note_head(&self.shared, &lines);
    }
}

fn fields_of(lines: &[u8]) -> HeaderMap {
    let mut fields = HeaderMap::with_capacity(FIELDS);
    header_block::push_fields(&mut fields, lines);
    fields
}

//! The body of a program's response on its way into the output: framed, counted, cut to its length.

use super::output::Output;
use super::reply::Length;
use crate::backlog::{Backlog, Unsent};
use crate::dispatch::Exchange;
use crate::handler::{Backend, Fault};
use crate::request::Protocol;
use crate::status;
use crate::turn::Turn;
use mehari_pool::Head;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Unsent bytes in the output at which what comes next waits in the backlog.
const AT_HAND: usize = 64 * 1024;
/// Taken at a time.
const ROOM: usize = 64 * 1024;
/// `00ffff\r\n`: a chunk's size is written into its place once the chunk is there.
const SIZE_LINE: usize = 8;

#[derive(Debug, PartialEq, Eq)]
enum State {
    Open,
    Done,
    CutOff(Fault),
    /// Done, but the program said more bytes than its Content-Length allows.
    Overlong,
    /// Done, but it said fewer.
    Short,
    /// What waited for the client cannot be read again.
    Lost(io::ErrorKind),
}

pub struct Stream {
    pub length: Length,
    /// The client is told of the body but gets none: HEAD, 204, 304.
    silent: bool,
    state: State,
    /// The body that is already there, all of it, in the scratch.
    whole: bool,
    sent: u64,
    /// The client's write limit is running.
    pub stalled: bool,
    /// What the client is too slow for.
    backlog: Backlog,
}

impl Stream {
    pub fn new(
        turn: &Turn,
        head: &Head,
        content_length: Option<u64>,
        unsent: &Rc<Unsent>,
    ) -> Stream {
        let bodiless = status::has_no_body(head.status);
        let length = match (content_length, turn.protocol) {
            _ if bodiless => Length::Unsaid,
            (Some(length), _) => Length::Known(length),
            (None, Protocol::Http10) => Length::Close,
            (None, _) => Length::Chunked,
        };
        Stream {
            length,
            silent: bodiless || turn.is_head,
            state: State::Open,
            whole: false,
            sent: 0,
            stalled: false,
            backlog: Backlog::new(unsent, None),
        }
    }

    /// A body that has arrived whole has a length, even if the program did not say it: then no
    /// chunks are needed, and HTTP/1.0 can keep its connection.
    pub fn learn_length<P: Exchange>(
        &mut self,
        cx: &mut Context<'_>,
        backend: &mut Backend<P>,
        scratch: &mut Vec<u8>,
    ) {
        if !matches!(self.length, Length::Chunked | Length::Close) || !backend.is_complete() {
            return;
        }
        scratch.clear();
        loop {
            match backend.poll_body(cx, scratch, usize::MAX) {
                Poll::Ready(Ok(true)) => {}
                Poll::Ready(Ok(false)) => break self.state = State::Done,
                Poll::Ready(Err(fault)) => break self.state = State::CutOff(fault),
                Poll::Pending => break,
            }
        }
        self.whole = true;
        // A program that knows HEAD says no body; how long it would have been is not ours to claim.
        if self.state == State::Done && !(self.silent && scratch.is_empty()) {
            self.length = Length::Known(scratch.len() as u64);
        }
    }

    /// Appends what [`Stream::learn_length`] took.
    pub fn push_known(&mut self, scratch: &mut Vec<u8>, output: &mut Vec<u8>) {
        if !std::mem::take(&mut self.whole) || self.silent || scratch.is_empty() {
            return;
        }
        self.sent += scratch.len() as u64;
        if self.length == Length::Chunked {
            output.extend_from_slice(format!("{:06x}\r\n", scratch.len()).as_bytes());
            output.extend_from_slice(scratch);
            output.extend_from_slice(b"\r\n");
        } else {
            output.extend_from_slice(scratch);
        }
        scratch.clear();
    }

    /// The program has said all, and all of it is in the output.
    pub fn is_done(&self) -> bool {
        self.state != State::Open && self.backlog.is_empty()
    }

    /// Bytes of the body that did not stay in the backlog.
    pub fn delivered(&self) -> u64 {
        self.sent.saturating_sub(self.backlog.length())
    }

    /// The client got less than it was promised and can only be told by the connection's end.
    pub fn is_cut_off(&self) -> bool {
        matches!(self.state, State::CutOff(_) | State::Short | State::Lost(_))
    }

    /// What the error log should know.
    pub fn remark(&self) -> Option<String> {
        match &self.state {
            State::Open | State::Done => None,
            State::CutOff(fault) => Some(format!("cut off within its response: {fault}")),
            State::Overlong => Some("the program sent more than its Content-Length; cut".into()),
            State::Short => Some("the program sent less than its Content-Length".into()),
            State::Lost(kind) => Some(format!(
                "cut off within its response: its temporary file: {kind}"
            )),
        }
    }

    /// What the error log should know at once: the program has to wait for its client.
    pub fn take_warning(&mut self) -> Option<String> {
        let error = self.backlog.take_failure()?;
        Some(format!("a temporary file for the response: {error}"))
    }

    /// Moves the body on: from the program to the output, or to the backlog while the client does
    /// not keep up, and from there when it does. Returns the bytes that moved.
    pub fn poll_move<P: Exchange>(
        &mut self,
        cx: &mut Context<'_>,
        backend: &mut Backend<P>,
        output: &mut Output,
    ) -> usize {
        let unsent = output.pending();
        let returned = match unsent {
            0 => self.poll_return(cx, output),
            _ => 0,
        };
        if self.state != State::Open {
            return returned;
        }
        // Asked each time: it also keeps the write to the file going.
        let room = self.backlog.room(cx, unsent);
        if self.backlog.is_empty() && unsent < AT_HAND {
            output.compact();
            return returned + self.poll_take(cx, backend, &mut output.bytes, ROOM);
        }
        if room == 0 {
            return returned;
        }
        let mut memory = std::mem::take(self.backlog.memory());
        let taken = self.poll_take(cx, backend, &mut memory, room);
        *self.backlog.memory() = memory;
        returned + taken
    }

    /// The output is empty: what waited longest is next.
    fn poll_return(&mut self, cx: &mut Context<'_>, output: &mut Output) -> usize {
        match self.backlog.poll_take(cx, usize::MAX) {
            Poll::Ready(Ok(Some(bytes))) => {
                let count = bytes.len();
                output.refill(bytes);
                count
            }
            Poll::Ready(Err(error)) => {
                self.state = State::Lost(error.kind());
                self.backlog.clear();
                0
            }
            Poll::Ready(Ok(None)) | Poll::Pending => 0,
        }
    }

    /// Appends more of the body to `into`, framed.
    fn poll_take<P: Exchange>(
        &mut self,
        cx: &mut Context<'_>,
        backend: &mut Backend<P>,
        into: &mut Vec<u8>,
        room: usize,
    ) -> usize {
        let before = into.len();
        let chunked = self.length == Length::Chunked && !self.silent;
        if chunked {
            into.extend_from_slice(&[0; SIZE_LINE]);
        }
        let start = into.len();
        let taken = backend.poll_body(cx, into, room);
        let count = into.len() - start;
        match taken {
            Poll::Ready(Ok(false)) => self.state = State::Done,
            Poll::Ready(Err(fault)) => self.state = State::CutOff(fault),
            _ => {}
        }
        if self.silent || count == 0 {
            into.truncate(before);
        } else if chunked {
            let size = format!("{count:06x}\r\n");
            into[before..start].copy_from_slice(size.as_bytes());
            into.extend_from_slice(b"\r\n");
            self.sent += count as u64;
        } else {
            self.sent += count as u64;
        }
        self.check_length(into);
        if chunked && self.state == State::Done {
            into.extend_from_slice(b"0\r\n\r\n");
        }
        count
    }

    fn check_length(&mut self, into: &mut Vec<u8>) {
        let Length::Known(length) = self.length else {
            return;
        };
        if self.silent {
            return;
        }
        if self.sent > length {
            let excess = (self.sent - length) as usize;
            into.truncate(into.len() - excess);
            self.sent = length;
            self.state = State::Overlong;
        } else if self.state == State::Done && self.sent < length {
            self.state = State::Short;
        }
    }
}

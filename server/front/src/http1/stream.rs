//! The body of a program's response on its way into the output: framed, counted, cut to its length.

use super::output::Output;
use super::reply::Length;
use crate::dispatch::Exchange;
use crate::handler::Backend;
use crate::request::Protocol;
use crate::status;
use crate::turn::Turn;
use mehari_pool::{Fault, Head};
use std::cell::Cell;
use std::task::{Context, Poll};

/// Unsent bytes of one response at which the program has to wait for the client: usually more than
/// all of it, so that a slow reader does not hold a worker.
const HIGH: usize = 2 * 1024 * 1024;
/// The same while the responses that wait for slow clients fill `CROWDED` bytes together.
const HIGH_WHEN_CROWDED: usize = 128 * 1024;
const CROWDED: usize = 256 * 1024 * 1024;
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
}

pub struct Stream {
    pub length: Length,
    /// The client is told of the body but gets none: HEAD, 204, 304.
    silent: bool,
    state: State,
    /// The body that is already there, all of it, in the scratch.
    whole: bool,
    pub sent: u64,
    /// The client's write limit is running.
    pub stalled: bool,
    /// What of the front's total is this response's.
    held: usize,
}

impl Stream {
    pub fn new(turn: &Turn, head: &Head, content_length: Option<u64>) -> Stream {
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
            held: 0,
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

    pub fn is_done(&self) -> bool {
        self.state != State::Open
    }

    /// The client got less than it was promised and can only be told by the connection's end.
    pub fn is_cut_off(&self) -> bool {
        matches!(self.state, State::CutOff(_) | State::Short)
    }

    /// What the error log should know.
    pub fn remark(&self) -> Option<String> {
        match &self.state {
            State::Open | State::Done => None,
            State::CutOff(fault) => Some(format!("cut off within its response: {fault}")),
            State::Overlong => Some("the program sent more than its Content-Length; cut".into()),
            State::Short => Some("the program sent less than its Content-Length".into()),
        }
    }

    /// Takes more of the body if the client keeps up. True: something came.
    pub fn poll_take<P: Exchange>(
        &mut self,
        cx: &mut Context<'_>,
        backend: &mut Backend<P>,
        output: &mut Output,
        total: &Cell<usize>,
    ) -> bool {
        self.hold(output.pending(), total);
        let high = match total.get() > CROWDED {
            true => HIGH_WHEN_CROWDED,
            false => HIGH,
        };
        if self.is_done() || output.pending() >= high {
            return false;
        }
        output.compact();
        let before = output.bytes.len();
        let chunked = self.length == Length::Chunked && !self.silent;
        if chunked {
            output.bytes.extend_from_slice(&[0; SIZE_LINE]);
        }
        let start = output.bytes.len();
        let taken = backend.poll_body(cx, &mut output.bytes, ROOM);
        let count = output.bytes.len() - start;
        match taken {
            Poll::Ready(Ok(false)) => self.state = State::Done,
            Poll::Ready(Err(fault)) => self.state = State::CutOff(fault),
            _ => {}
        }
        if self.silent || count == 0 {
            output.bytes.truncate(before);
        } else if chunked {
            let size = format!("{count:06x}\r\n");
            output.bytes[before..start].copy_from_slice(size.as_bytes());
            output.bytes.extend_from_slice(b"\r\n");
            self.sent += count as u64;
        } else {
            self.sent += count as u64;
        }
        self.check_length(output);
        if chunked && self.state == State::Done {
            output.bytes.extend_from_slice(b"0\r\n\r\n");
        }
        count > 0
    }

    /// Accounts for `bytes` unsent ones in the front's total.
    pub fn hold(&mut self, bytes: usize, total: &Cell<usize>) {
        total.set(total.get() - self.held + bytes);
        self.held = bytes;
    }

    fn check_length(&mut self, output: &mut Output) {
        let Length::Known(length) = self.length else {
            return;
        };
        if self.silent {
            return;
        }
        if self.sent > length {
            let excess = (self.sent - length) as usize;
            output.bytes.truncate(output.bytes.len() - excess);
            self.sent = length;
            self.state = State::Overlong;
        } else if self.state == State::Done && self.sent < length {
            self.state = State::Short;
        }
    }
}

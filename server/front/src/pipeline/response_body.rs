//! Sends the body of a program's response: framed, counted, cut to its length, and kept in the
//! backlog while the client is slow. A page that the server has made waits in the same way.

mod page;
mod unread;

pub use page::send_page;
pub use unread::give_up;

use super::client::{BodyLength, ClientStream, Framing, Gone};
use crate::content::backlog::Backlog;
use crate::handlers::{Backend, Fault};
use crate::pipeline::RequestContext;
use mehari_net::deadline::{Interrupt, Phase};
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

/// Bytes that are moved for one client before other tasks run.
const AT_ONCE: usize = 1024 * 1024;
/// From this many unsent bytes on, further data go to the backlog.
const AT_HAND: usize = 64 * 1024;
/// Bytes that are taken from the program at a time.
const ROOM: usize = 64 * 1024;
/// `00ffff\r\n`: room for a chunk's size, which is written after the chunk is complete.
const SIZE_LINE: usize = 8;

#[derive(Debug, PartialEq, Eq)]
enum BodyState {
    Open,
    Done,
    CutOff(Fault),
    /// The program sent more than its Content-Length. The rest was cut.
    Overlong,
    /// The program still sends a body that has no reader, and the front discards no more of it.
    Unread,
    /// The program ended its body, but sent less than its Content-Length.
    Short,
    /// The backlog cannot be read.
    Lost(io::ErrorKind),
}

pub struct ResponseBody {
    pub length: BodyLength,
    pub framing: Framing,
    /// Whether the client gets no body: HEAD, 204, 304.
    pub silent: bool,
    state: BodyState,
    /// Whether the whole body is in the scratch buffer.
    whole: bool,
    sent: u64,
    /// The number of bytes without a reader.
    discarded: u64,
    /// Whether the client has left while its bytes were discarded.
    is_deserted: bool,
    /// Whether the client's write limit is running.
    stalled: bool,
    /// Data that the client has not taken.
    backlog: Backlog,
}

/// Moves the body from the program to the client until everything is handed over. Data for a slow
/// client go to the backlog. While the program pauses, its earlier output is sent.
pub fn poll<C: ClientStream>(
    client: &mut C,
    cx: &mut Context<'_>,
    context: &RequestContext,
    body: &mut ResponseBody,
    backend: &mut Backend,
) -> Poll<Result<(), Gone>> {
    let mut moved = 0;
    loop {
        let count = body.poll_move(cx, backend, client)?;
        if let Some(warning) = body.take_warning() {
            client.log(context, &warning);
        }
        if body.silent && !body.has_ended() {
            body.watch_client(cx, client, matches!(backend, Backend::Cgi(_)));
        }
        let is_done = body.is_done();
        if is_done && client.withheld() == 0 {
            return Poll::Ready(Ok(()));
        }
        moved += count;
        match client.poll_write(cx, is_done && !body.is_cut_off()) {
            Poll::Ready(wrote) => {
                wrote?;
                body.stalled = false;
            }
            Poll::Pending if count > 0 => {}
            Poll::Pending => return poll_pause(client, cx, body),
        }
        if moved > AT_ONCE {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
    }
}

/// Waits for the client or for the program, because no data can be moved now.
fn poll_pause<C: ClientStream>(
    client: &mut C,
    cx: &mut Context<'_>,
    body: &mut ResponseBody,
) -> Poll<Result<(), Gone>> {
    client.poll_client(cx)?;
    if client.takes_other_streams() {
        body.stalled = false;
    }
    let waits = client.is_blocked();
    let shared = client.shared();
    if !waits && !body.is_deserted {
        client
            .guard()
            .enter(&shared.clock, Phase::Work, Duration::MAX);
    } else if waits && !body.stalled {
        let limit = shared.site().limits.write_timeout;
        client.guard().enter(&shared.clock, Phase::Write, limit);
    }
    body.stalled = waits;
    match client.guard().poll_interrupt(cx) {
        Some(Interrupt::Abort) => Poll::Ready(Err(Gone)),
        Some(Interrupt::TimedOut) if waits => Poll::Ready(Err(Gone)),
        _ => Poll::Pending,
    }
}

impl ResponseBody {
    pub fn new<C: ClientStream>(
        client: &C,
        context: &RequestContext,
        length: BodyLength,
    ) -> ResponseBody {
        ResponseBody {
            length,
            framing: client.framing(context, length),
            silent: length == BodyLength::Bodiless || context.is_head,
            state: BodyState::Open,
            whole: false,
            sent: 0,
            discarded: 0,
            is_deserted: false,
            stalled: false,
            backlog: client.backlog(),
        }
    }

    /// Finds the length of a body that is already complete. Such a body needs no chunks, and an
    /// HTTP/1.0 connection can be kept.
    pub fn learn_length(
        &mut self,
        cx: &mut Context<'_>,
        backend: &mut Backend,
        scratch: &mut Vec<u8>,
    ) {
        if self.framing == Framing::Plain || !backend.is_complete() {
            return;
        }
        scratch.clear();
        loop {
            match backend.poll_body(cx, scratch, usize::MAX) {
                Poll::Ready(Ok(true)) => {}
                Poll::Ready(Ok(false)) => break self.state = BodyState::Done,
                Poll::Ready(Err(fault)) => break self.state = BodyState::CutOff(fault),
                Poll::Pending => break,
            }
        }
        self.whole = true;
        // For a HEAD request a program sends no body, so the length of GET's body is unknown.
        if self.state == BodyState::Done && !(self.silent && scratch.is_empty()) {
            self.length = BodyLength::Known(scratch.len() as u64);
            self.framing = Framing::Plain;
        }
    }

    /// Hands over the bytes that [`ResponseBody::learn_length`] took.
    pub fn push_known<C: ClientStream>(&mut self, client: &mut C) {
        if !std::mem::take(&mut self.whole) || self.silent {
            return;
        }
        let shared = client.shared().clone();
        let scratch = &mut *shared.scratch.borrow_mut();
        let Some(buffer) = client.buffer().filter(|_| !scratch.is_empty()) else {
            return;
        };
        self.sent += scratch.len() as u64;
        if self.framing == Framing::Chunked {
            buffer.extend_from_slice(format!("{:06x}\r\n", scratch.len()).as_bytes());
            buffer.extend_from_slice(scratch);
            buffer.extend_from_slice(b"\r\n");
        } else {
            buffer.extend_from_slice(scratch);
        }
        scratch.clear();
    }

    /// Whether the program has ended or failed, and the backlog is empty.
    fn is_done(&self) -> bool {
        self.state != BodyState::Open && self.backlog.is_empty()
    }

    /// Whether the program has sent everything, or failed.
    pub fn has_ended(&self) -> bool {
        self.state != BodyState::Open
    }

    /// Returns the number of bytes of the body so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns the number of bytes that are neither in the backlog nor withheld by the codec.
    pub fn delivered(&self, withheld: usize) -> u64 {
        self.sent
            .saturating_sub(self.backlog.length() + withheld as u64)
    }

    /// Whether the client gets less than announced. Only a reset of the stream or the end of the
    /// connection can show this to the client.
    pub fn is_cut_off(&self) -> bool {
        matches!(
            self.state,
            BodyState::CutOff(_) | BodyState::Short | BodyState::Lost(_)
        )
    }

    /// Returns what the error log must say about the end of the body.
    pub fn remark(&self) -> Option<String> {
        match &self.state {
            BodyState::Open | BodyState::Done | BodyState::Unread => None,
            BodyState::CutOff(fault) => Some(format!("cut off within its response: {fault}")),
            BodyState::Overlong => {
                Some("the program sent more than its Content-Length; cut".into())
            }
            BodyState::Short => Some("the program sent less than its Content-Length".into()),
            BodyState::Lost(kind) => Some(format!(
                "cut off within its response: its temporary file: {kind}"
            )),
        }
    }

    /// Returns why the backlog takes no more data, once. The program must then wait for the client.
    /// The caller writes the text to the error log at once.
    fn take_warning(&mut self) -> Option<String> {
        let error = self.backlog.take_failure()?;
        Some(format!("a temporary file for the response: {error}"))
    }

    /// Moves data from the backlog to the client, then from the program to the client. Data for a
    /// slow client go to the backlog. Returns the number of moved bytes.
    fn poll_move<C: ClientStream>(
        &mut self,
        cx: &mut Context<'_>,
        backend: &mut Backend,
        client: &mut C,
    ) -> Result<usize, Gone> {
        if self.state != BodyState::Open {
            self.poll_store(cx, client);
            return self.poll_return(cx, client);
        }
        let returned = self.poll_return(cx, client)?;
        if self.state != BodyState::Open {
            return Ok(returned);
        }
        // This call must not be skipped, because it also continues the write to the backlog's file.
        let unsent = client.unsent();
        let room = self.backlog.room(cx, unsent);
        if self.backlog.is_empty() && unsent < AT_HAND {
            if let Some(buffer) = client.buffer() {
                return Ok(returned + self.poll_take(cx, backend, buffer, ROOM));
            }
        }
        let mut memory = std::mem::take(self.backlog.memory());
        let mut taken = 0;
        // Many small frames look like a flood to a client, so the available data are sent together.
        while taken < room && self.state == BodyState::Open {
            match self.poll_take(cx, backend, &mut memory, room - taken) {
                0 => break,
                count => taken += count,
            }
        }
        *self.backlog.memory() = memory;
        Ok(returned + taken)
    }

    /// Sends the oldest data of the backlog if the client takes more. Returns the number of bytes.
    fn poll_return<C: ClientStream>(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut C,
    ) -> Result<usize, Gone> {
        if self.backlog.is_empty() {
            return Ok(0);
        }
        let Poll::Ready(room) = client.poll_room(cx, self.backlog.length()) else {
            return Ok(0);
        };
        match self.backlog.poll_take(cx, room?) {
            Poll::Ready(Ok(Some(bytes))) => {
                let count = bytes.len();
                client.push(bytes);
                Ok(count)
            }
            Poll::Ready(Err(error)) => {
                self.state = BodyState::Lost(error.kind());
                self.backlog.clear();
                Ok(0)
            }
            Poll::Ready(Ok(None)) | Poll::Pending => Ok(0),
        }
    }

    /// Takes data from the program and appends them to `into`, framed. Returns the number of taken
    /// bytes.
    fn poll_take(
        &mut self,
        cx: &mut Context<'_>,
        backend: &mut Backend,
        into: &mut Vec<u8>,
        room: usize,
    ) -> usize {
        let before = into.len();
        let chunked = self.framing == Framing::Chunked && !self.silent;
        if chunked {
            into.extend_from_slice(&[0; SIZE_LINE]);
        }
        let start = into.len();
        let taken = backend.poll_body(cx, into, room);
        let count = into.len() - start;
        match taken {
            Poll::Ready(Ok(false)) => self.state = BodyState::Done,
            Poll::Ready(Err(fault)) => self.state = BodyState::CutOff(fault),
            _ => {}
        }
        if self.silent || count == 0 {
            self.discarded += count as u64;
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
        if chunked && self.state == BodyState::Done {
            into.extend_from_slice(b"0\r\n\r\n");
        }
        count
    }

    /// Compares the body with the program's Content-Length, and cuts excess bytes.
    fn check_length(&mut self, into: &mut Vec<u8>) {
        let BodyLength::Known(length) = self.length else {
            return;
        };
        if self.silent {
            return;
        }
        if self.sent > length {
            let excess = (self.sent - length) as usize;
            into.truncate(into.len() - excess);
            self.sent = length;
            self.state = BodyState::Overlong;
        } else if self.state == BodyState::Done && self.sent < length {
            self.state = BodyState::Short;
        }
    }
}

//! The body of a program's response on its way into a stream, as the client's window allows.

use super::outgoing::Outgoing;
use super::stream::Gone;
use crate::backlog::Backlog;
use crate::dispatch::Exchange;
use crate::handler::{Backend, Fault};
use bytes::Bytes;
use h2::SendStream;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Bytes of its window that a stream asks for at a time.
const AT_ONCE: usize = 256 * 1024;

#[derive(Debug)]
enum State {
    Open,
    Done,
    CutOff(Fault),
    /// Done, but the program said more bytes than its Content-Length allows.
    Overlong,
    /// Done, but it said fewer.
    Short,
    /// What waited for the client cannot be read again.
    Lost(io::Error),
}

pub struct Flow {
    stream: SendStream<Bytes>,
    outgoing: Rc<Outgoing>,
    rounds: u64,
    /// What the client has not been sent yet, but for the piece that is next.
    backlog: Backlog,
    piece: Bytes,
    /// Bytes that the program may still say.
    left: Option<u64>,
    /// The stream has ended with its head: the body is thrown away.
    silent: bool,
    state: State,
    ended: bool,
    /// There are bytes for the client, and it takes none.
    blocked: bool,
    pub sent: u64,
    /// The client's write limit is running.
    pub stalled: bool,
}

impl Flow {
    pub fn new(
        (stream, outgoing): (SendStream<Bytes>, Rc<Outgoing>),
        backlog: Backlog,
        length: Option<u64>,
        silent: bool,
    ) -> Flow {
        Flow {
            stream,
            rounds: outgoing.rounds(),
            outgoing,
            backlog,
            piece: Bytes::new(),
            left: length,
            silent,
            state: State::Open,
            ended: silent,
            blocked: false,
            sent: 0,
            stalled: false,
        }
    }

    /// Takes what the program has said, if there is room for it. Clients count small frames as a
    /// flood: what has come goes together.
    pub fn poll_take<P: Exchange>(
        &mut self,
        cx: &mut Context<'_>,
        backend: &mut Backend<P>,
    ) -> usize {
        let mut taken = 0;
        let room = self.backlog.room(cx, self.piece.len());
        while taken < room && matches!(self.state, State::Open) {
            let memory = self.backlog.memory();
            let before = memory.len();
            let said = backend.poll_body(cx, memory, room - taken);
            let count = memory.len() - before;
            taken += count;
            match said {
                Poll::Ready(Ok(true)) | Poll::Pending => {}
                Poll::Ready(Ok(false)) => self.state = State::Done,
                Poll::Ready(Err(fault)) => self.state = State::CutOff(fault),
            }
            self.check_length(count);
            if said_nothing(&said) {
                break;
            }
        }
        taken
    }

    /// Holds the program to its Content-Length; `count` bytes were just appended.
    fn check_length(&mut self, count: usize) {
        let memory = self.backlog.memory();
        if self.silent {
            return memory.clear();
        }
        let Some(left) = &mut self.left else { return };
        if count as u64 > *left {
            let excess = count - *left as usize;
            memory.truncate(memory.len() - excess);
            *left = 0;
            self.state = State::Overlong;
            return;
        }
        *left -= count as u64;
        if *left > 0 && matches!(self.state, State::Done) {
            self.state = State::Short;
        }
    }

    /// Sends what the client's window allows; what waits in a file is not read before.
    pub fn poll_send(&mut self, cx: &mut Context<'_>) -> Result<usize, Gone> {
        self.blocked = false;
        let unsent = self.piece.len() as u64 + self.backlog.length();
        if unsent == 0 {
            return Ok(0);
        }
        let Poll::Ready(room) = self.poll_room(cx, unsent)? else {
            self.blocked = true;
            return Ok(0);
        };
        if self.piece.is_empty() {
            match self.backlog.poll_take(cx, room) {
                Poll::Ready(Ok(bytes)) => self.piece = bytes.unwrap_or_default().into(),
                Poll::Ready(Err(error)) => {
                    self.backlog.clear();
                    self.state = State::Lost(error);
                }
                Poll::Pending => {}
            }
        }
        if self.piece.is_empty() {
            return Ok(0);
        }
        let piece = self.piece.split_to(room.min(self.piece.len()));
        let count = piece.len();
        self.ended = matches!(self.state, State::Done | State::Overlong) && self.is_done();
        self.sent += count as u64;
        let piece = self.outgoing.count(piece);
        let sent = self.stream.send_data(piece, self.ended);
        sent.map(|()| count).map_err(|_| Gone)
    }

    /// Waits until some of so many bytes may be sent; how many.
    fn poll_room(&mut self, cx: &mut Context<'_>, unsent: u64) -> Result<Poll<usize>, Gone> {
        if self.outgoing.poll_room(cx).is_pending() {
            return Ok(Poll::Pending);
        }
        self.stream
            .reserve_capacity(unsent.min(AT_ONCE as u64) as usize);
        while self.stream.capacity() == 0 {
            match self.stream.poll_capacity(cx) {
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(_) => return Err(Gone),
                Poll::Pending => return Ok(Poll::Pending),
            }
        }
        Ok(Poll::Ready(self.stream.capacity()))
    }

    /// The client has taken bytes of other streams since this was last asked.
    pub fn client_takes_others(&mut self) -> bool {
        let rounds = self.outgoing.rounds();
        std::mem::replace(&mut self.rounds, rounds) != rounds
    }

    /// The program has said all, and the client has been sent all of it.
    pub fn is_done(&self) -> bool {
        !matches!(self.state, State::Open) && self.piece.is_empty() && self.backlog.is_empty()
    }

    pub fn waits_for_client(&self) -> bool {
        self.blocked
    }

    /// Ends the stream as its body ended: a client that got less than all must see a reset.
    pub fn end(&mut self) -> Result<(), Gone> {
        match self.state {
            State::CutOff(_) | State::Short | State::Lost(_) => Err(Gone),
            _ if self.ended => Ok(()),
            _ => {
                self.ended = true;
                let sent = self.stream.send_data(Bytes::new(), true);
                sent.map_err(|_| Gone)
            }
        }
    }

    /// Whether the client has reset the stream.
    pub fn poll_reset(&mut self, cx: &mut Context<'_>) -> bool {
        self.stream.poll_reset(cx).is_ready()
    }

    /// What the error log should know at once: the program has to wait for its client.
    pub fn take_warning(&mut self) -> Option<String> {
        let error = self.backlog.take_failure()?;
        Some(format!("a temporary file for the response: {error}"))
    }

    /// What the error log should know at the end.
    pub fn remark(&self) -> Option<String> {
        match &self.state {
            State::Open | State::Done => None,
            State::CutOff(fault) => Some(format!("cut off within its response: {fault}")),
            State::Overlong => Some("the program sent more than its Content-Length; cut".into()),
            State::Short => Some("the program sent less than its Content-Length".into()),
            State::Lost(error) => Some(format!(
                "cut off within its response: its temporary file: {error}"
            )),
        }
    }
}

/// No more is to be had now: the program pauses, or has ended.
fn said_nothing(said: &Poll<Result<bool, Fault>>) -> bool {
    !matches!(said, Poll::Ready(Ok(true)))
}

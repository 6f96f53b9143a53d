//! Sends a response's body on its stream, as the client's window and the socket allow.

use super::outgoing::Outgoing;
use crate::pipeline::Gone;
use bytes::Bytes;
use h2::SendStream;
use std::task::{Context, Poll};

/// How many bytes of the client's window a stream reserves at a time.
const AT_ONCE: usize = 256 * 1024;

pub struct Sending {
    stream: SendStream<Bytes>,
    /// The bytes that are sent next.
    piece: Bytes,
    ended: bool,
    /// Whether the stream waits for the client's window or for the socket.
    blocked: bool,
    /// The last seen value of [`Outgoing::rounds`].
    rounds: u64,
}

impl Sending {
    /// Begins a body. `ended`: the stream has ended with the head.
    pub fn new(stream: SendStream<Bytes>, ended: bool, outgoing: &Outgoing) -> Sending {
        Sending {
            stream,
            piece: Bytes::new(),
            ended,
            blocked: false,
            rounds: outgoing.rounds(),
        }
    }

    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether the client's window has room for `count` bytes now.
    pub fn has_room_for(&mut self, count: usize) -> bool {
        self.stream.reserve_capacity(count);
        self.stream.capacity() >= count
    }

    /// Sends bytes for which the window has room.
    pub fn send(&mut self, bytes: Bytes, is_last: bool) -> Result<(), Gone> {
        self.ended = is_last;
        self.stream.send_data(bytes, is_last).map_err(|_| Gone)
    }

    /// Waits until some of the `wanted` bytes may be sent. Returns how many bytes the client's
    /// window allows.
    pub fn poll_capacity(
        &mut self,
        cx: &mut Context<'_>,
        outgoing: &Outgoing,
        wanted: usize,
    ) -> Poll<Result<usize, Gone>> {
        self.blocked = true;
        if outgoing.poll_room(cx).is_pending() {
            return Poll::Pending;
        }
        self.stream.reserve_capacity(wanted);
        while self.stream.capacity() == 0 {
            match self.stream.poll_capacity(cx) {
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(_) => return Poll::Ready(Err(Gone)),
                Poll::Pending => return Poll::Pending,
            }
        }
        self.blocked = false;
        Poll::Ready(Ok(self.stream.capacity()))
    }

    /// Waits until the current piece is sent and the window has room. Returns the room in bytes.
    pub fn poll_room(
        &mut self,
        cx: &mut Context<'_>,
        outgoing: &Outgoing,
        waiting: u64,
    ) -> Poll<Result<usize, Gone>> {
        if self.piece.is_empty() {
            self.poll_capacity(cx, outgoing, waiting.min(AT_ONCE as u64) as usize)
        } else {
            Poll::Pending
        }
    }

    /// Adds bytes to send.
    pub fn push(&mut self, bytes: Vec<u8>) {
        debug_assert!(self.piece.is_empty());
        self.piece = bytes.into();
    }

    /// Returns the number of bytes that are not yet handed to the library.
    pub fn withheld(&self) -> usize {
        self.piece.len()
    }

    /// Sends some bytes of the piece. `is_last`: the stream ends with the piece.
    pub fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        outgoing: &Outgoing,
        is_last: bool,
    ) -> Poll<Result<(), Gone>> {
        if self.piece.is_empty() {
            return Poll::Pending;
        }
        let wanted = self.piece.len().min(AT_ONCE);
        let room = std::task::ready!(self.poll_capacity(cx, outgoing, wanted))?;
        let piece = self.piece.split_to(room.min(self.piece.len()));
        let piece = outgoing.count(piece);
        Poll::Ready(self.send(piece, is_last && self.piece.is_empty()))
    }

    pub fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Whether other streams of the connection made progress since the last call.
    pub fn others_got_on(&mut self, outgoing: &Outgoing) -> bool {
        let rounds = outgoing.rounds();
        std::mem::replace(&mut self.rounds, rounds) != rounds
    }

    /// Whether the client has reset the stream.
    pub fn poll_reset(&mut self, cx: &mut Context<'_>) -> bool {
        self.stream.poll_reset(cx).is_ready()
    }

    /// Ends the stream, unless it has already ended.
    pub fn end(&mut self) -> Result<(), Gone> {
        if self.ended {
            Ok(())
        } else {
            self.send(Bytes::new(), true)
        }
    }
}

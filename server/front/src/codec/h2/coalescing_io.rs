//! The socket of an HTTP/2 connection, which the library and the connection (its driver) share.
//! Reads first return the bytes that were read before the takeover. Incoming frames are counted,
//! and outgoing bytes are gathered.
//!
//! The library flushes after each data frame and polls the socket again after each stream. To save
//! system calls, the driver works in rounds: the output of all streams is sent at the end of the
//! round, and an empty socket is not polled again before the next round.

use super::flood_guard::FloodGuard;
use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{ready, Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

/// From this many gathered bytes on, the bytes are sent before the round ends.
const GATHERED: usize = 32 * 1024;
/// Larger buffers are freed.
const KEPT: usize = 64 * 1024;

/// A PING frame (RFC 9113 section 6.7).
const PING: [u8; 17] = *b"\0\0\x08\x06\0\0\0\0\0mehari?!";

/// The library and the driver each have a copy of this handle.
pub struct CoalescingIo<S>(Rc<RefCell<Inner<S>>>);

impl<S> Clone for CoalescingIo<S> {
    fn clone(&self) -> CoalescingIo<S> {
        CoalescingIo(self.0.clone())
    }
}

struct Inner<S> {
    before: Vec<u8>,
    at: usize,
    socket: S,
    flood_guard: FloodGuard,
    /// Outgoing bytes.
    gathered: Vec<u8>,
    /// How many of the gathered bytes the socket has taken.
    written: usize,
    /// Whether the driver ends rounds.
    by_round: bool,
    /// Whether the socket had no more bytes in this round.
    dry: bool,
    end: End,
    /// Whether a write of the library has not been taken yet. Nothing may then be inserted.
    within: bool,
}

/// The end of the client's input.
#[derive(Clone, Copy, PartialEq)]
enum End {
    NotYet,
    /// The end has arrived, but the library is not told, because it would drop unanswered streams.
    HeldBack,
    RequestNews,
}

impl<S> CoalescingIo<S> {
    /// Wraps a socket. `before` are the bytes that were already read from the socket.
    pub fn new(before: Vec<u8>, socket: S, mut flood_guard: FloodGuard) -> CoalescingIo<S> {
        flood_guard.read(&before);
        CoalescingIo(Rc::new(RefCell::new(Inner {
            before,
            at: 0,
            socket,
            flood_guard,
            gathered: Vec::new(),
            written: 0,
            by_round: false,
            dry: false,
            end: End::NotYet,
            within: false,
        })))
    }

    /// Notes that [`CoalescingIo::poll_end_round`] ends rounds from now on.
    pub fn gather_by_round(&self) {
        self.0.borrow_mut().by_round = true;
    }

    /// Whether the client has closed its sending side and the library has not been told.
    pub fn holds_back_the_end(&self) -> bool {
        self.0.borrow().end == End::HeldBack
    }

    /// Lets the library's next read return the end.
    pub fn release_end(&self) {
        self.0.borrow_mut().end = End::RequestNews;
    }

    /// Sends a PING to a client that has closed its sending side. The system of a client that has
    /// closed completely refuses the PING, and the next write fails.
    pub fn probe(&self) {
        let ends = &mut *self.0.borrow_mut();
        if !ends.within {
            ends.gathered.extend_from_slice(&PING);
        }
    }

    /// Returns the kind of flood on a connection of this age. `None`: there is no flood.
    pub fn verdict(&self, age: Duration) -> Option<&'static str> {
        self.0.borrow().flood_guard.verdict(age)
    }
}

impl<S: AsyncWrite + Unpin> CoalescingIo<S> {
    /// Ends a round: writes the gathered bytes. The driver is woken when the socket has room for
    /// the rest.
    pub fn poll_end_round(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ends = &mut *self.0.borrow_mut();
        ends.dry = false;
        ends.poll_flush(cx)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> CoalescingIo<S> {
    /// Closes the sending side, then reads and drops up to this many bytes.
    pub async fn discard(mut self, most: usize) {
        if self.shutdown().await.is_err() {
            return;
        }
        self.0.borrow_mut().by_round = false;
        let mut bytes = [0; 8192];
        let mut read = 0;
        while read < most {
            match self.read(&mut bytes).await {
                Ok(count @ 1..) => read += count,
                _ => return,
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> Inner<S> {
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.gathered.len() {
            let rest = &self.gathered[self.written..];
            let count = ready!(Pin::new(&mut self.socket).poll_write(cx, rest))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += count;
        }
        self.flood_guard.count_sent(self.written);
        self.gathered.clear();
        self.written = 0;
        Poll::Ready(Ok(()))
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.gathered.is_empty() {
            ready!(self.poll_drain(cx))?;
        }
        if self.gathered.capacity() > KEPT {
            self.gathered = Vec::new();
        }
        Pin::new(&mut self.socket).poll_flush(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CoalescingIo<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let ends = &mut *self.0.borrow_mut();
        if ends.at < ends.before.len() {
            let count = into.remaining().min(ends.before.len() - ends.at);
            into.put_slice(&ends.before[ends.at..ends.at + count]);
            ends.at += count;
            return Poll::Ready(Ok(()));
        }
        if ends.dry || ends.end == End::HeldBack {
            // An earlier poll has left our waker with the socket.
            return Poll::Pending;
        }
        let start = into.filled().len();
        let read = Pin::new(&mut ends.socket).poll_read(cx, into);
        ends.dry = ends.by_round && read.is_pending();
        ends.flood_guard.read(&into.filled()[start..]);
        let is_end = matches!(read, Poll::Ready(Ok(()))) && into.filled().len() == start;
        if ends.by_round && is_end && ends.end == End::NotYet {
            ends.end = End::HeldBack;
            return Poll::Pending;
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CoalescingIo<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let ends = &mut *self.0.borrow_mut();
        ends.within = true;
        if ends.gathered.len() >= GATHERED {
            ready!(ends.poll_drain(cx))?;
        }
        ends.within = false;
        ends.gathered.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ends = &mut *self.0.borrow_mut();
        if ends.by_round {
            Poll::Ready(Ok(()))
        } else {
            ends.poll_flush(cx)
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ends = &mut *self.0.borrow_mut();
        ready!(ends.poll_drain(cx))?;
        Pin::new(&mut ends.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;

//! The socket of an HTTP/2 connection for the library and its driver. Bytes that were read before
//! come first, incoming frames are counted, and outgoing bytes are gathered.
//!
//! The library flushes after each data frame and polls the socket again after each stream. The
//! driver therefore ends rounds: the output of all streams of a round leaves at its end, and an
//! empty socket is not polled again before the next round.

use super::flood_guard::FloodGuard;
use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{ready, Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

/// At this size gathered bytes leave before the round ends.
const GATHERED: usize = 32 * 1024;
/// Larger buffers are freed.
const KEPT: usize = 64 * 1024;

/// A PING frame (RFC 9113 section 6.7).
const PING: [u8; 17] = *b"\0\0\x08\x06\0\0\0\0\0mehari?!";

/// The library and the driver each have one.
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
    /// Outgoing bytes, and how many the socket has taken.
    gathered: Vec<u8>,
    written: usize,
    /// Whether the driver ends rounds.
    by_round: bool,
    /// Whether the socket had nothing more in this round.
    dry: bool,
    end: End,
    /// Whether the library is within a frame.
    within: bool,
}

/// The end of the client's input.
#[derive(Clone, Copy, PartialEq)]
enum End {
    NotYet,
    /// It has arrived, but the library does not know, because it would drop unanswered streams.
    HeldBack,
    Told,
}

impl<S> CoalescingIo<S> {
    /// `before`: bytes that were already read from the socket.
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

    /// From now on [`CoalescingIo::poll_end_round`] ends rounds.
    pub fn gather_by_round(&self) {
        self.0.borrow_mut().by_round = true;
    }

    /// Whether the client has closed its sending side and the library does not know.
    pub fn holds_back_the_end(&self) -> bool {
        self.0.borrow().end == End::HeldBack
    }

    /// Lets the library's next read return the end.
    pub fn tell_the_end(&self) {
        self.0.borrow_mut().end = End::Told;
    }

    /// Sends a PING to a client that has closed its sending side. A client that has closed
    /// completely refuses it, and the next write fails.
    pub fn probe(&self) {
        let ends = &mut *self.0.borrow_mut();
        if !ends.within {
            ends.gathered.extend_from_slice(&PING);
        }
    }

    /// The kind of flood, if there is one.
    pub fn verdict(&self, age: Duration) -> Option<&'static str> {
        self.0.borrow().flood_guard.verdict(age)
    }
}

impl<S: AsyncWrite + Unpin> CoalescingIo<S> {
    /// Ends a round: gathered bytes leave. The driver is woken when there is room for the rest.
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
            // The socket already has our waker.
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
mod tests {
    use super::*;
    use std::task::Waker;

    #[tokio::test]
    async fn what_was_read_before_comes_first_and_a_round_leaves_together() {
        let (mut client, socket) = tokio::io::duplex(1024);
        let mut line = CoalescingIo::new(b"be".to_vec(), socket, FloodGuard::new(0));
        line.gather_by_round();
        client.write_all(b"fore").await.expect("room");
        let mut read = [0; 6];
        line.read_exact(&mut read).await.expect("six bytes");
        assert_eq!(&read, b"before");
        for word in ["one ", "two ", "three"] {
            line.write_all(word.as_bytes()).await.expect("gathered");
            line.flush().await.expect("not yet");
        }
        let cx = &mut Context::from_waker(Waker::noop());
        let mut heard = [0; 13];
        let early = &mut ReadBuf::new(&mut heard);
        assert!(Pin::new(&mut client).poll_read(cx, early).is_pending());
        assert!(line.poll_end_round(cx).is_ready());
        client.read_exact(&mut heard).await.expect("all of it");
        assert_eq!(&heard, b"one two three");
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_is_waited_for() {
        let (mut client, socket) = tokio::io::duplex(16);
        let mut line = CoalescingIo::new(Vec::new(), socket, FloodGuard::new(0));
        line.gather_by_round();
        line.write_all(&[7; 40]).await.expect("gathered");
        let cx = &mut Context::from_waker(Waker::noop());
        assert!(line.poll_end_round(cx).is_pending());
        let mut heard = [0; 40];
        let all = client.read_exact(&mut heard);
        let rest = std::future::poll_fn(|cx| line.poll_end_round(cx));
        let (all, rest) = tokio::join!(all, rest);
        assert!(all.is_ok() && rest.is_ok());
        assert_eq!(heard, [7; 40]);
    }

    #[tokio::test]
    async fn the_end_of_what_the_client_sends_is_told_when_the_host_says_so() {
        let (client, socket) = tokio::io::duplex(16);
        let mut line = CoalescingIo::new(Vec::new(), socket, FloodGuard::new(0));
        line.gather_by_round();
        drop(client);
        let cx = &mut Context::from_waker(Waker::noop());
        let mut bytes = [0; 4];
        let into = &mut ReadBuf::new(&mut bytes);
        assert!(!line.holds_back_the_end());
        assert!(Pin::new(&mut line).poll_read(cx, into).is_pending());
        assert!(line.holds_back_the_end());
        assert!(Pin::new(&mut line).poll_read(cx, into).is_pending());
        line.tell_the_end();
        assert!(Pin::new(&mut line).poll_read(cx, into).is_ready());
        assert!(into.filled().is_empty() && !line.holds_back_the_end());
    }

    #[tokio::test]
    async fn an_empty_socket_is_asked_once_a_round() {
        let (mut client, socket) = tokio::io::duplex(16);
        let mut line = CoalescingIo::new(Vec::new(), socket, FloodGuard::new(0));
        line.gather_by_round();
        let cx = &mut Context::from_waker(Waker::noop());
        let mut bytes = [0; 4];
        let into = &mut ReadBuf::new(&mut bytes);
        assert!(Pin::new(&mut line).poll_read(cx, into).is_pending());
        client.write_all(b"late").await.expect("room");
        assert!(Pin::new(&mut line).poll_read(cx, into).is_pending());
        assert!(line.poll_end_round(cx).is_ready());
        assert!(Pin::new(&mut line).poll_read(cx, into).is_ready());
        assert_eq!(into.filled(), b"late");
    }
}

//! Holds bytes for the client. The responses to pipelined requests gather here and are sent in one
//! write.

use mehari_net::buffer_pool::Buffer;
use mehari_net::socket::Stream;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use tokio::io::AsyncWrite;

/// Larger buffers are freed when the connection becomes idle.
const KEPT: usize = 64 * 1024;

pub struct Output {
    pub bytes: Buffer,
    written: usize,
}

impl Output {
    pub fn new() -> Output {
        Output {
            bytes: Buffer::with_room(),
            written: 0,
        }
    }

    /// Returns the number of bytes that the socket has not taken.
    pub fn pending(&self) -> usize {
        self.bytes.len() - self.written
    }

    /// Writes once to the socket. `Ready(Ok(true))`: all bytes are written.
    pub fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        socket: &mut (impl AsyncWrite + Unpin),
    ) -> Poll<io::Result<bool>> {
        if self.pending() > 0 {
            let count = ready!(Pin::new(socket).poll_write(cx, &self.bytes[self.written..]))?;
            return Poll::Ready(self.wrote(count));
        }
        Poll::Ready(self.wrote(0))
    }

    /// Writes once to the socket, before a part of a file that follows at once.
    pub fn poll_write_before_more(
        &mut self,
        cx: &mut Context<'_>,
        socket: &mut impl Stream,
    ) -> Poll<io::Result<bool>> {
        if self.pending() > 0 {
            let count = ready!(socket.poll_write_before_more(cx, &self.bytes[self.written..]))?;
            return Poll::Ready(self.wrote(count));
        }
        Poll::Ready(self.wrote(0))
    }

    /// Writes once to the socket: the gathered bytes, then `rest`, which is not copied. Returns how
    /// many bytes of `rest` were written.
    pub fn poll_write_with(
        &mut self,
        cx: &mut Context<'_>,
        socket: &mut (impl AsyncWrite + Unpin),
        rest: &[u8],
    ) -> Poll<io::Result<usize>> {
        let slices = [
            IoSlice::new(&self.bytes[self.written..]),
            IoSlice::new(rest),
        ];
        let count = ready!(Pin::new(socket).poll_write_vectored(cx, &slices))?;
        if count == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        let own = count.min(self.pending());
        self.wrote(own)?;
        Poll::Ready(Ok(count - own))
    }

    fn wrote(&mut self, count: usize) -> io::Result<bool> {
        if count == 0 && self.pending() > 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.written += count;
        if self.pending() > 0 {
            return Ok(false);
        }
        self.written = 0;
        self.bytes.clear();
        Ok(true)
    }

    /// Replaces the output, which must be empty.
    pub fn refill(&mut self, bytes: Vec<u8>) {
        debug_assert_eq!(self.pending(), 0);
        self.bytes = bytes.into();
        self.written = 0;
    }

    /// Frees a large buffer before the connection waits for its next request.
    pub fn release(&mut self) {
        if self.bytes.is_empty() && self.bytes.capacity() > KEPT {
            self.bytes = Buffer::default();
        }
    }

    /// Removes written bytes from the beginning of the buffer. Without this, the buffer of a long
    /// response would grow for ever. Nothing is removed before at least half is written, so bytes
    /// are rarely moved.
    pub fn compact(&mut self) {
        if self.written >= KEPT && self.written >= self.bytes.len() / 2 {
            self.bytes.drain(..self.written);
            self.written = 0;
        }
    }
}

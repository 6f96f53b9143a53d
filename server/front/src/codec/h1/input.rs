//! Holds received bytes that are not used yet. Each connection has one buffer. The buffer's memory
//! is initialised only once, because a pool keeps it.

use mehari_net::buffer_pool::{self, Pool};
use std::cell::RefCell;
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};

/// The initial size of the buffer.
const INITIAL: usize = 4 * 1024;
/// Larger buffers are freed when they are empty.
const KEPT: usize = 16 * 1024;

thread_local! {
    /// Free buffers of the initial size, whose memory is initialised.
    static BUFFERS: Pool<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

pub struct Input {
    /// The whole length is initialised. `start..end` holds received bytes.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Input {
    pub fn new() -> Input {
        Input {
            buffer: buffer_pool::take(&BUFFERS).unwrap_or_else(|| vec![0; INITIAL]),
            start: 0,
            end: 0,
        }
    }

    /// Returns the received bytes. They begin with the first byte of the current request.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Drops the first `count` bytes.
    pub fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.end);
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            if self.buffer.len() > KEPT {
                self.buffer = vec![0; INITIAL];
            }
        }
    }

    /// Removes `count` bytes that follow the first `after` bytes.
    pub fn cut(&mut self, after: usize, count: usize) {
        let from = self.start + after;
        self.buffer.copy_within(from + count..self.end, from);
        self.end -= count;
    }

    /// Makes room for `count` bytes in all.
    pub fn reserve(&mut self, count: usize) {
        if self.start + count <= self.buffer.len() {
            return;
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if count > self.buffer.len() {
            self.buffer.resize(count.next_power_of_two(), 0);
        }
    }

    /// Reads once from the socket. `Ok(0)`: the client has closed its sending side.
    pub fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        socket: &mut (impl AsyncRead + Unpin),
    ) -> Poll<std::io::Result<usize>> {
        if self.end == self.buffer.len() {
            let length = self.bytes().len();
            self.reserve(length + 1);
        }
        let mut space = ReadBuf::new(&mut self.buffer[self.end..]);
        ready!(Pin::new(socket).poll_read(cx, &mut space))?;
        let count = space.filled().len();
        self.end += count;
        Poll::Ready(Ok(count))
    }

    /// Returns all remaining bytes, for a protocol that takes over the connection.
    pub fn take(&mut self) -> Vec<u8> {
        let rest = self.bytes().to_vec();
        self.consume(rest.len());
        rest
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        if self.buffer.len() == INITIAL {
            buffer_pool::give(&BUFFERS, std::mem::take(&mut self.buffer));
        }
    }
}

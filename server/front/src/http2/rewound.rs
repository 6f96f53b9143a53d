//! The socket as HTTP/2's library sees it: some of its input put back in front, a count of the frames that
//! come, and frames that leave gathered.

use super::census::Census;
use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{ready, Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that gather at most before they leave, flush or not.
const GATHERED: usize = 32 * 1024;
/// A buffer that grew beyond this is given back.
const KEPT: usize = 64 * 1024;

pub struct Rewound<S> {
    before: Vec<u8>,
    at: usize,
    socket: S,
    census: Rc<RefCell<Census>>,
    /// Bytes on their way out, and how many of them the socket has taken.
    gathered: Vec<u8>,
    written: usize,
}

impl<S> Rewound<S> {
    pub fn new(before: Vec<u8>, socket: S, census: Rc<RefCell<Census>>) -> Rewound<S> {
        census.borrow_mut().read(&before);
        Rewound {
            census,
            gathered: Vec::new(),
            written: 0,
            before,
            at: 0,
            socket,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Rewound<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.at < this.before.len() {
            let count = into.remaining().min(this.before.len() - this.at);
            into.put_slice(&this.before[this.at..this.at + count]);
            this.at += count;
            return Poll::Ready(Ok(()));
        }
        let start = into.filled().len();
        let read = Pin::new(&mut this.socket).poll_read(cx, into);
        this.census.borrow_mut().read(&into.filled()[start..]);
        read
    }
}

impl<S: AsyncWrite + Unpin> Rewound<S> {
    /// Writes what has gathered.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.gathered.len() {
            let rest = &self.gathered[self.written..];
            let count = ready!(Pin::new(&mut self.socket).poll_write(cx, rest))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += count;
        }
        self.census.borrow_mut().count_sent(self.written);
        self.gathered.clear();
        self.written = 0;
        Poll::Ready(Ok(()))
    }
}

/// The library writes a frame at a time and flushes when it has no more: what comes between two
/// flushes leaves together, in as few records and system calls as it fits.
impl<S: AsyncWrite + Unpin> AsyncWrite for Rewound<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.gathered.len() >= GATHERED {
            ready!(self.poll_drain(cx))?;
        }
        self.gathered.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.gathered.len() >= GATHERED {
            ready!(self.poll_drain(cx))?;
        }
        let before = self.gathered.len();
        slices
            .iter()
            .for_each(|slice| self.gathered.extend_from_slice(slice));
        Poll::Ready(Ok(self.gathered.len() - before))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        if self.gathered.capacity() > KEPT {
            self.gathered = Vec::new();
        }
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

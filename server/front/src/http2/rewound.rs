//! A socket with some of its input put back in front, and a count of the frames that pass.

use super::census::Census;
use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub struct Rewound<S> {
    before: Vec<u8>,
    at: usize,
    socket: S,
    census: Rc<RefCell<Census>>,
}

impl<S> Rewound<S> {
    pub fn new(before: Vec<u8>, socket: S, census: Rc<RefCell<Census>>) -> Rewound<S> {
        census.borrow_mut().read(&before);
        Rewound {
            census,
            before,
            at: 0,
            socket,
        }
    }
}

impl<S> Rewound<S> {
    fn count(&self, wrote: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = wrote {
            self.census.borrow_mut().count_sent(*bytes);
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

impl<S: AsyncWrite + Unpin> AsyncWrite for Rewound<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.count(&wrote);
        wrote
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.socket).poll_write_vectored(cx, slices);
        self.count(&wrote);
        wrote
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

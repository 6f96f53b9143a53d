//! A connection the loop does not know of until there is something to wait for. The request of a connection that
//! carries one has usually arrived by the time it is accepted, and its answer fits: such a one is never registered.

use super::Stream;
use crate::watched::send_unpaced;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A socket of the loop, made of a non-blocking one.
pub trait Watched: Stream + AsFd {
    fn of(socket: OwnedFd) -> io::Result<Self>
    where
        Self: Sized;
}

impl Watched for TcpStream {
    fn of(socket: OwnedFd) -> io::Result<TcpStream> {
        TcpStream::from_std(socket.into())
    }
}

impl Watched for UnixStream {
    fn of(socket: OwnedFd) -> io::Result<UnixStream> {
        UnixStream::from_std(socket.into())
    }
}

pub enum Unwatched<S> {
    Not(OwnedFd),
    Watched(S),
    /// It could not be registered.
    Lost,
}

impl<S: Watched> Unwatched<S> {
    pub fn new(socket: OwnedFd) -> Unwatched<S> {
        Unwatched::Not(socket)
    }

    /// From now on the loop wakes us for it.
    fn watched(&mut self) -> io::Result<Pin<&mut S>> {
        if let Unwatched::Not(_) = self {
            if let Unwatched::Not(socket) = std::mem::replace(self, Unwatched::Lost) {
                *self = Unwatched::Watched(S::of(socket)?);
            }
        }
        match self {
            Unwatched::Watched(socket) => Ok(Pin::new(socket)),
            _ => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Tries a call at once, while nobody is told when it might succeed. `None`: it would have to wait.
    fn at_once<T>(
        &self,
        mut call: impl FnMut(&OwnedFd) -> rustix::io::Result<T>,
    ) -> Option<io::Result<T>> {
        let Unwatched::Not(socket) = self else {
            return None;
        };
        match rustix::io::retry_on_intr(|| call(socket)) {
            Err(rustix::io::Errno::AGAIN) => None,
            other => Some(other.map_err(io::Error::from)),
        }
    }
}

impl<S: Watched> AsyncRead for Unwatched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Unwatched::Watched(socket) = &mut *self {
            return Pin::new(socket).poll_read(cx, into);
        }
        let space = into.initialize_unfilled();
        match self.at_once(|socket| rustix::net::recv(socket, &mut *space, RecvFlags::empty())) {
            Some(count) => {
                into.advance(count?);
                Poll::Ready(Ok(()))
            }
            None => self.watched()?.poll_read(cx, into),
        }
    }
}

impl<S: Watched> AsyncWrite for Unwatched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Unwatched::Watched(socket) = &mut *self {
            return Pin::new(socket).poll_write(cx, bytes);
        }
        match self.at_once(|socket| rustix::net::send(socket, bytes, SendFlags::NOSIGNAL)) {
            Some(count) => Poll::Ready(count),
            None => self.watched()?.poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut nothing = SendAncillaryBuffer::default();
        let sent = self.at_once(|socket| {
            rustix::net::sendmsg(socket, parts, &mut nothing, SendFlags::NOSIGNAL)
        });
        match sent {
            Some(count) => Poll::Ready(count),
            None => self.watched()?.poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(())) // a socket holds nothing back
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.at_once(|socket| rustix::net::shutdown(socket, Shutdown::Write)) {
            Some(done) => Poll::Ready(done),
            None => self.watched()?.poll_shutdown(cx),
        }
    }
}

impl<S: Watched> Stream for Unwatched<S> {
    fn poll_send_file(
        &mut self,
        cx: &mut Context<'_>,
        file: &File,
        start: u64,
        count: usize,
    ) -> Poll<io::Result<usize>> {
        let mut offset = start;
        match self.at_once(|socket| rustix::fs::sendfile(socket, file, Some(&mut offset), count)) {
            Some(sent) => Poll::Ready(sent),
            None => self.watched()?.poll_send_file(cx, file, start, count),
        }
    }

    fn poll_write_before_more(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.at_once(|socket| rustix::net::send(socket, bytes, super::BEFORE_MORE)) {
            Some(count) => Poll::Ready(count),
            None => self.watched()?.poll_write_before_more(cx, bytes),
        }
    }

    fn reset_when_closed(&self) {
        match self {
            Unwatched::Not(socket) => super::reset_when_closed(socket),
            Unwatched::Watched(socket) => socket.reset_when_closed(),
            Unwatched::Lost => {}
        }
    }

    fn send_unpaced(&self) {
        match self {
            Unwatched::Not(socket) => drop(send_unpaced(socket)),
            Unwatched::Watched(socket) => socket.send_unpaced(),
            Unwatched::Lost => {}
        }
    }

    fn is_unwatched(&self) -> bool {
        matches!(self, Unwatched::Not(_))
    }

    fn watch(&mut self) -> io::Result<()> {
        self.watched().map(|_| ())
    }
}

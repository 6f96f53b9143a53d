//! Registers a socket with the reactor only when the socket has to wait.
//!
//! The request of a new connection has usually arrived when the connection is accepted, and its
//! response fits into the socket's buffer. Such a connection needs no registration.

use super::Stream;
use crate::readiness::send_unpaced;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A registered socket, made from a non-blocking socket.
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

pub enum LazyRegistered<S> {
    Not(OwnedFd),
    Watched(S),
    /// The registration failed and the socket is closed.
    Lost,
}

impl<S: Watched> LazyRegistered<S> {
    pub fn new(socket: OwnedFd) -> LazyRegistered<S> {
        LazyRegistered::Not(socket)
    }

    /// Returns the registered socket. Registers the socket first if needed.
    fn registered(&mut self) -> io::Result<Pin<&mut S>> {
        if let LazyRegistered::Not(_) = self {
            if let LazyRegistered::Not(socket) = std::mem::replace(self, LazyRegistered::Lost) {
                *self = LazyRegistered::Watched(S::of(socket)?);
            }
        }
        match self {
            LazyRegistered::Watched(socket) => Ok(Pin::new(socket)),
            _ => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Makes a call on an unregistered socket. Returns `None` if the call would have to wait.
    fn try_unregistered<T>(
        &self,
        mut call: impl FnMut(&OwnedFd) -> rustix::io::Result<T>,
    ) -> Option<io::Result<T>> {
        let LazyRegistered::Not(socket) = self else {
            return None;
        };
        match rustix::io::retry_on_intr(|| call(socket)) {
            Err(rustix::io::Errno::AGAIN) => None,
            other => Some(other.map_err(io::Error::from)),
        }
    }
}

impl<S: Watched> AsyncRead for LazyRegistered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let LazyRegistered::Watched(socket) = &mut *self {
            return Pin::new(socket).poll_read(cx, into);
        }
        let space = into.initialize_unfilled();
        match self
            .try_unregistered(|socket| rustix::net::recv(socket, &mut *space, RecvFlags::empty()))
        {
            Some(count) => {
                into.advance(count?);
                Poll::Ready(Ok(()))
            }
            None => self.registered()?.poll_read(cx, into),
        }
    }
}

impl<S: Watched> AsyncWrite for LazyRegistered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let LazyRegistered::Watched(socket) = &mut *self {
            return Pin::new(socket).poll_write(cx, bytes);
        }
        match self.try_unregistered(|socket| rustix::net::send(socket, bytes, SendFlags::NOSIGNAL))
        {
            Some(count) => Poll::Ready(count),
            None => self.registered()?.poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut nothing = SendAncillaryBuffer::default();
        let sent = self.try_unregistered(|socket| {
            rustix::net::sendmsg(socket, parts, &mut nothing, SendFlags::NOSIGNAL)
        });
        match sent {
            Some(count) => Poll::Ready(count),
            None => self.registered()?.poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(())) // a socket has no buffer of ours to flush
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.try_unregistered(|socket| rustix::net::shutdown(socket, Shutdown::Write)) {
            Some(done) => Poll::Ready(done),
            None => self.registered()?.poll_shutdown(cx),
        }
    }
}

impl<S: Watched> Stream for LazyRegistered<S> {
    fn poll_send_file(
        &mut self,
        cx: &mut Context<'_>,
        file: &File,
        start: u64,
        count: usize,
    ) -> Poll<io::Result<usize>> {
        let mut offset = start;
        match self
            .try_unregistered(|socket| rustix::fs::sendfile(socket, file, Some(&mut offset), count))
        {
            Some(sent) => Poll::Ready(sent),
            None => self.registered()?.poll_send_file(cx, file, start, count),
        }
    }

    fn poll_write_before_more(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.try_unregistered(|socket| rustix::net::send(socket, bytes, super::BEFORE_MORE)) {
            Some(count) => Poll::Ready(count),
            None => self.registered()?.poll_write_before_more(cx, bytes),
        }
    }

    fn reset_when_closed(&self) {
        match self {
            LazyRegistered::Not(socket) => super::reset_when_closed(socket),
            LazyRegistered::Watched(socket) => socket.reset_when_closed(),
            LazyRegistered::Lost => {}
        }
    }

    fn send_unpaced(&self) {
        match self {
            LazyRegistered::Not(socket) => drop(send_unpaced(socket)),
            LazyRegistered::Watched(socket) => socket.send_unpaced(),
            LazyRegistered::Lost => {}
        }
    }

    fn is_registered_lazily(&self) -> bool {
        matches!(self, LazyRegistered::Not(_))
    }

    fn watch(&mut self) -> io::Result<()> {
        self.registered().map(|_| ())
    }
}

//! A connected socket of either kind.

use mehari_config::BackEndAddress;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

#[derive(Debug)]
pub enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// A host's name is resolved by a thread; an address costs none.
    pub async fn connect(address: &BackEndAddress) -> io::Result<Socket> {
        match address {
            BackEndAddress::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                Ok(Socket::Tcp(stream))
            }
            BackEndAddress::Unix(path) => Ok(Socket::Unix(UnixStream::connect(path).await?)),
        }
    }

    /// Ready: there is something to read, or the other side has closed.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Socket::Tcp(stream) => stream.poll_read_ready(cx),
            Socket::Unix(stream) => stream.poll_read_ready(cx),
        }
    }

    pub fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.try_read(into),
            Socket::Unix(stream) => stream.try_read(into),
        }
    }

    /// Asks the kernel, whatever the loop has noticed by now: nothing has come and nothing has ended.
    pub fn is_quiet(&self) -> bool {
        use rustix::net::{recv, RecvFlags};
        let mut byte = [0];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let seen = match self {
            Socket::Tcp(stream) => recv(stream, &mut byte, flags),
            Socket::Unix(stream) => recv(stream, &mut byte, flags),
        };
        matches!(seen, Err(rustix::io::Errno::AGAIN))
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_read(cx, into),
            Socket::Unix(stream) => Pin::new(stream).poll_read(cx, into),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Socket::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Socket::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Socket::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

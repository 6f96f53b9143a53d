//! A connected socket to a back end: TCP or local, with or without TLS.

mod delegate;

use crate::trust::{self, BackEndTls};
use crate::Fault;
use delegate::delegate;
use mehari_config::BackEndAddress;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;
use tokio_rustls::TlsConnector;

#[derive(Debug)]
pub enum Socket {
    Plain(Plain),
    Tls(Box<TlsStream<Plain>>),
}

#[derive(Debug)]
pub enum Plain {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Opens a connection. With `tls` the connection uses TLS, and the back end must authenticate
    /// itself.
    ///
    /// # Errors
    ///
    /// [`Fault`] if the back end cannot be reached or does not authenticate.
    pub async fn connect(
        address: &BackEndAddress,
        tls: Option<&BackEndTls>,
    ) -> Result<Socket, Fault> {
        let plain = Plain::connect(address).await;
        let plain = plain.map_err(|error| Fault::Unreachable(error.kind()))?;
        let Some(tls) = tls else {
            return Ok(Socket::Plain(plain));
        };
        let connector = TlsConnector::from(tls.config.clone());
        let met = connector.connect(tls.name.clone(), plain).await;
        met.map(|stream| Socket::Tls(Box::new(stream)))
            .map_err(|error| trust::fault(&error))
    }

    /// Returns whether the other side has closed the connection or sent unexpected bytes.
    pub fn is_stale(&mut self, cx: &mut Context<'_>) -> bool {
        match self {
            Socket::Plain(plain) => match plain.poll_read_ready(cx) {
                Poll::Pending => false,
                Poll::Ready(Err(_)) => true,
                Poll::Ready(Ok(())) => {
                    let read = plain.try_read(&mut [0]);
                    !matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
                }
            },
            // TLS may exchange messages of its own, which do not count as unexpected bytes.
            Socket::Tls(stream) => {
                let mut byte = [0];
                let mut byte = ReadBuf::new(&mut byte);
                Pin::new(stream).poll_read(cx, &mut byte).is_ready()
            }
        }
    }

    /// Asks the kernel whether the connection is open and nothing has arrived, because the event
    /// loop may not know yet.
    pub fn is_quiet(&self) -> bool {
        match self {
            Socket::Plain(plain) => plain.is_quiet(),
            Socket::Tls(stream) => stream.get_ref().0.is_quiet(),
        }
    }
}

impl Plain {
    /// Opens a connection without TLS. A thread resolves a host's name. An address needs no thread.
    async fn connect(address: &BackEndAddress) -> io::Result<Plain> {
        match address {
            BackEndAddress::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                Ok(Plain::Tcp(stream))
            }
            BackEndAddress::Unix(path) => Ok(Plain::Unix(UnixStream::connect(path).await?)),
        }
    }

    /// Polls whether there is something to read, or the other side has closed.
    fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Plain::Tcp(stream) => stream.poll_read_ready(cx),
            Plain::Unix(stream) => stream.poll_read_ready(cx),
        }
    }

    fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Plain::Tcp(stream) => stream.try_read(into),
            Plain::Unix(stream) => stream.try_read(into),
        }
    }

    fn is_quiet(&self) -> bool {
        use rustix::net::{recv, RecvFlags};
        let mut byte = [0];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let seen = match self {
            Plain::Tcp(stream) => recv(stream, &mut byte, flags),
            Plain::Unix(stream) => recv(stream, &mut byte, flags),
        };
        matches!(seen, Err(rustix::io::Errno::AGAIN))
    }
}

delegate!(Plain: Tcp, Unix);
// For TLS, bytes that did not fit into the socket stay in a buffer until a flush.
delegate!(Socket: Plain, Tls);

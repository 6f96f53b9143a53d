//! Handles listening sockets, the connections they accept, and the addresses of both ends.

use crate::readiness::{accept_at_once, defer_accept, register, send_unpaced};
use crate::Peer;
use rustix::net::{SendFlags, SocketAddrAny, SocketFlags};
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest};
use tokio::net::{TcpStream, UnixStream};

mod lazy_registered;
mod tls;
pub use lazy_registered::LazyRegistered;

/// The options of the connections that a listener accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ListenerOptions {
    /// Connections begin with a TLS handshake.
    pub secure: bool,
}

/// A bound socket on which the front accepts.
pub enum Listener {
    Tcp(std::net::TcpListener, ListenerOptions),
    Unix(std::os::unix::net::UnixListener),
}

impl From<std::net::TcpListener> for Listener {
    fn from(listener: std::net::TcpListener) -> Listener {
        Listener::Tcp(listener, ListenerOptions::default())
    }
}

impl From<std::os::unix::net::UnixListener> for Listener {
    fn from(listener: std::os::unix::net::UnixListener) -> Listener {
        Listener::Unix(listener)
    }
}

/// A connected socket of any kind.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + 'static {
    /// Sends a part of a file without copying it, if [`Stream::sends_files`].
    fn poll_send_file(
        &mut self,
        cx: &mut Context<'_>,
        file: &File,
        start: u64,
        count: usize,
    ) -> Poll<io::Result<usize>>;

    /// Returns whether the socket sends files without reading them into memory.
    fn sends_files(&self) -> bool {
        true
    }

    /// Writes bytes when a part of a file follows at once. The bytes may wait and leave together
    /// with the file.
    fn poll_write_before_more(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(self).poll_write(cx, bytes)
    }

    /// Makes the close of the socket signal an error (TCP: a reset) instead of a normal end. Unsent
    /// bytes are lost. Local sockets have no such signal.
    fn reset_when_closed(&self);

    /// Makes the system send bytes at once, even if it would pace the connection.
    fn send_unpaced(&self) {}

    /// Tells the client that no data follow, if the protocol has a message for this.
    fn send_close_notify(&mut self, _: &mut Context<'_>) {}

    /// Returns whether the socket is not yet registered with the reactor. Nothing then wakes the
    /// task when the client sends or closes.
    fn is_registered_lazily(&self) -> bool {
        false
    }

    /// Registers the socket with the reactor.
    ///
    /// # Errors
    ///
    /// The error of the registration.
    fn watch(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sets a linger time of zero. If the socket has no linger time, it closes normally.
fn reset_when_closed(socket: impl AsFd) {
    let _ = rustix::net::sockopt::set_socket_linger(socket, Some(Duration::ZERO));
}

macro_rules! stream {
    ($kind:ty) => {
        impl Stream for $kind {
            fn poll_send_file(
                &mut self,
                cx: &mut Context<'_>,
                file: &File,
                start: u64,
                count: usize,
            ) -> Poll<io::Result<usize>> {
                loop {
                    ready!(self.poll_write_ready(cx))?;
                    let sent = self.try_io(Interest::WRITABLE, || {
                        let mut offset = start;
                        let sent = rustix::fs::sendfile(&*self, file, Some(&mut offset), count);
                        sent.map_err(io::Error::from)
                    });
                    match sent {
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        other => return Poll::Ready(other),
                    }
                }
            }

            fn poll_write_before_more(
                &mut self,
                cx: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                loop {
                    ready!(self.poll_write_ready(cx))?;
                    let sent = self.try_io(Interest::WRITABLE, || {
                        let sent = rustix::net::send(&*self, bytes, BEFORE_MORE);
                        sent.map_err(io::Error::from)
                    });
                    match sent {
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        other => return Poll::Ready(other),
                    }
                }
            }

            fn reset_when_closed(&self) {
                reset_when_closed(self);
            }

            fn send_unpaced(&self) {
                // A failure only makes sending slower. Local sockets have no such option and need
                // none.
                let _ = send_unpaced(self);
            }
        }
    };
}

const BEFORE_MORE: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::MORE);

stream!(TcpStream);
stream!(UnixStream);

/// The address that stands for the clients of a local socket.
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A listener of this thread's event loop.
pub enum Acceptor {
    /// A TCP listener, with the bound address unless that is a wildcard.
    Tcp(AsyncFd<OwnedFd>, Option<SocketAddr>, ListenerOptions),
    Unix(AsyncFd<OwnedFd>),
}

/// An accepted socket that is not registered with the event loop.
pub enum Socket {
    Tcp(OwnedFd, ListenerOptions),
    Unix(OwnedFd),
}

impl Acceptor {
    /// Makes an acceptor. It must be called inside the event loop.
    ///
    /// # Errors
    ///
    /// The error of setting the socket's options, or of registering the socket.
    pub fn new(listener: Listener) -> io::Result<Acceptor> {
        match listener {
            Listener::Tcp(listener, options) => {
                listener.set_nonblocking(true)?;
                // Accepted sockets inherit the option, which saves a system call per connection.
                rustix::net::sockopt::set_tcp_nodelay(&listener, true)?;
                defer_accept(&listener)?;
                let address = listener.local_addr()?;
                let fixed = (!address.ip().is_unspecified()).then_some(address);
                Ok(Acceptor::Tcp(register(listener.into())?, fixed, options))
            }
            Listener::Unix(listener) => {
                listener.set_nonblocking(true)?;
                Ok(Acceptor::Unix(register(listener.into())?))
            }
        }
    }

    /// Returns what is known of a connection before it is accepted.
    pub fn expected(&self) -> Peer {
        let bound = match self {
            Acceptor::Tcp(listener, ..) => rustix::net::getsockname(listener.get_ref()).ok(),
            Acceptor::Unix(_) => None,
        };
        match internet_address(bound) {
            Some(address) => Peer {
                server_port: address.port(),
                server_ip: Some(address.ip().to_canonical()),
                ..Peer::default()
            },
            None => Peer::default(),
        }
    }

    /// Makes the listener accept connections before their clients send anything.
    pub fn disable_defer_accept(&self) {
        if let Acceptor::Tcp(listener, ..) = self {
            // If this fails, connections are accepted up to a second later.
            let _ = accept_at_once(listener.get_ref());
        }
    }

    /// Accepts the next connection.
    ///
    /// # Errors
    ///
    /// The error of accept(2), for example that no descriptor is left.
    pub async fn accept(&self) -> io::Result<(Socket, Peer)> {
        match self {
            Acceptor::Tcp(listener, fixed, options) => {
                let (socket, remote) = accept(listener).await?;
                let local = match fixed {
                    Some(address) => Some(*address),
                    None => internet_address(Some(rustix::net::getsockname(&socket)?)),
                };
                let (Some(remote), Some(local)) = (internet_address(remote), local) else {
                    return Err(io::ErrorKind::AddrNotAvailable.into());
                };
                let peer = Peer {
                    remote_addr: remote.ip().to_canonical().into(),
                    remote_port: remote.port(),
                    server_addr: local.ip().to_canonical().into(),
                    server_port: local.port(),
                    tls: None,
                    server_ip: Some(local.ip().to_canonical()),
                    connection: next_connection(),
                    kept: Cell::default(),
                    times: None,
                };
                Ok((Socket::Tcp(socket, *options), peer))
            }
            Acceptor::Unix(listener) => {
                let (socket, _) = accept(listener).await?;
                let peer = Peer {
                    remote_addr: HERE.into(),
                    server_addr: HERE.into(),
                    connection: next_connection(),
                    ..Peer::default()
                };
                Ok((Socket::Unix(socket), peer))
            }
        }
    }
}

/// Returns the next connection number. Numbers do not repeat during the server's life.
fn next_connection() -> u64 {
    thread_local!(static LAST: Cell<u64> = const { Cell::new(0) });
    LAST.set(LAST.get() + 1);
    LAST.get()
}

/// Accepts a connection. The function yields between connections, so that other tasks run however
/// many clients connect.
async fn accept(listener: &AsyncFd<OwnedFd>) -> io::Result<(OwnedFd, Option<SocketAddrAny>)> {
    tokio::task::consume_budget().await;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    loop {
        let mut guard = listener.readable().await?;
        let accepted = guard.try_io(|listener| {
            let listener = listener.get_ref();
            let accepted =
                rustix::io::retry_on_intr(|| rustix::net::acceptfrom_with(listener, flags));
            Ok(accepted?)
        });
        if let Ok(accepted) = accepted {
            return accepted;
        }
    }
}

fn internet_address(address: Option<SocketAddrAny>) -> Option<SocketAddr> {
    match address? {
        SocketAddrAny::V4(address) => Some(address.into()),
        SocketAddrAny::V6(address) => Some(address.into()),
        _ => None,
    }
}

//! The client of a connection, and the server address that the client reached.

use crate::address::Address;
use crate::tls::Session;
use std::cell::Cell;
use std::rc::Rc;

/// Both ends of a connection as text, made when the connection is accepted.
#[derive(Debug, Clone, Default)]
pub struct Peer {
    pub remote_addr: Address,
    pub remote_port: u16,
    pub server_addr: Address,
    /// The server's address. `None` for a local socket.
    pub server_ip: Option<std::net::IpAddr>,
    pub server_port: u16,
    /// The TLS session. `None` if the client does not use TLS.
    pub tls: Option<Rc<Session>>,
    /// The connection's number, or 0 if it has none.
    pub connection: u64,
    /// The number of earlier requests on the connection. Only HTTP/1 counts them.
    pub kept: Cell<u64>,
    /// When the connection was accepted, if somebody traces requests.
    pub times: Option<Rc<ConnectionTimes>>,
}

/// The times of a connection in nanoseconds of CLOCK_MONOTONIC. 0: not known, or used before.
#[derive(Debug, Default)]
pub struct ConnectionTimes {
    pub accepted: Cell<u64>,
    /// The end of the TLS handshake.
    pub secured: Cell<u64>,
    /// The arrival of the first bytes of the current request.
    pub head: Cell<u64>,
}

impl ConnectionTimes {
    /// Notes that bytes of a request have arrived. Only the first bytes count.
    pub fn note_head(&self, time: u64) {
        if self.head.get() == 0 {
            self.head.set(time);
        }
    }
}

impl Peer {
    /// Returns whether both ends are on this machine.
    #[inline]
    pub fn is_on_this_host(&self) -> bool {
        self.remote_addr.as_bytes() == self.server_addr.as_bytes()
    }
}

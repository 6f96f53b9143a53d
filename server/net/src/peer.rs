//! Who is at the other end of a connection, and where it arrived.

use crate::address::Address;
use crate::tls::Session;
use std::cell::Cell;
use std::rc::Rc;

/// Both ends of a connection, as text: made once when it is accepted.
#[derive(Debug, Clone, Default)]
pub struct Peer {
    pub remote_addr: Address,
    pub remote_port: u16,
    pub server_addr: Address,
    /// The same address; `None`: a local socket.
    pub server_ip: Option<std::net::IpAddr>,
    pub server_port: u16,
    /// The client came by TLS.
    pub tls: Option<Rc<Session>>,
    /// The connection's own number; 0: none.
    pub connection: u64,
    /// Requests it brought before this one, as far as HTTP/1 counts them.
    pub kept: Cell<u64>,
}

impl Peer {
    /// Both ends are this machine's.
    #[inline]
    pub fn is_on_this_host(&self) -> bool {
        self.remote_addr.as_bytes() == self.server_addr.as_bytes()
    }
}

//! Makes non-blocking sockets with the buffers, source address and options of the plan.
#![allow(unsafe_code)]

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::net::{sockopt, AddressFamily, SocketFlags, SocketType};

use crate::plan::{Connection, Sources};

use super::receive::ask_for_stamps;

/// Chooses the source addresses of a thread's connections.
pub struct Source {
    /// How often the source moved to a further loopback address.
    pub changes: u64,
    fixed: Vec<IpAddr>,
    next: usize,
    /// The x of the source address 127.0.0.x, after the ports of 127.0.0.1 have run out.
    loopback: u8,
}

impl Source {
    pub fn new(sources: &Sources, thread: usize) -> Source {
        let fixed = match sources {
            Sources::Automatic => Vec::new(),
            Sources::Fixed(list) => list.clone(),
        };
        Source {
            changes: 0,
            fixed,
            next: thread,
            loopback: 1,
        }
    }

    fn choose(&mut self) -> Option<IpAddr> {
        if !self.fixed.is_empty() {
            self.next += 1;
            return Some(self.fixed[self.next % self.fixed.len()]);
        }
        (self.loopback > 1).then(|| IpAddr::V4(Ipv4Addr::new(127, 0, 0, self.loopback)))
    }

    /// Moves to the next source address, because the ports of the present address are used up.
    /// Returns false if there is no further address.
    fn change(&mut self, to: &SocketAddr) -> bool {
        let loopback = matches!(to.ip(), IpAddr::V4(ip) if ip.is_loopback());
        if !self.fixed.is_empty() || !loopback || self.loopback == 250 {
            return false;
        }
        self.changes += 1;
        self.loopback += 1;
        true
    }
}

/// Raises the process's descriptor limit to the hard limit. If the system refuses, the old limit
/// stays. Requests beyond it fail in the class `no descriptor`.
pub fn raise_descriptor_limit() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit {
        current: limit.maximum,
        ..limit
    };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, raised);
}

/// Starts a connection. The socket becomes writable when the connection is established.
pub fn connect(to: &SocketAddr, policy: &Connection, source: &mut Source) -> io::Result<OwnedFd> {
    loop {
        match connect_from(to, policy, source.choose()) {
            Err(error) if error.raw_os_error() == Some(libc::EADDRNOTAVAIL) => {
                if !source.change(to) {
                    return Err(error);
                }
            }
            other => return other,
        }
    }
}

fn connect_from(to: &SocketAddr, policy: &Connection, from: Option<IpAddr>) -> io::Result<OwnedFd> {
    let family = match to {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    // For a slow client the time of reading counts, not the time of arrival.
    if policy.throttle.is_none() {
        ask_for_stamps(&socket);
    }
    if let Some(bytes) = receive_buffer(policy) {
        sockopt::set_socket_recv_buffer_size(&socket, bytes)?;
    }
    if let Some(bytes) = policy.throttle.map(|_| SLOW_WINDOW) {
        set_number(&socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes)?;
    }
    if let Some(bytes) = policy.send_buffer {
        sockopt::set_socket_send_buffer_size(&socket, bytes)?;
    }
    if policy.close_with_reset {
        sockopt::set_socket_linger(&socket, Some(std::time::Duration::ZERO))?;
    }
    if let Some(from) = from {
        // The kernel then chooses the port at connect, so one source port serves many destinations.
        set_number(&socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
        rustix::net::bind(&socket, &SocketAddr::new(from, 0))?;
    }
    match rustix::net::connect(&socket, to) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

/// The receive buffer of a slow client in bytes. It is so small that the server's own send buffer
/// fills.
const SLOW_WINDOW: libc::c_int = 2048;

fn receive_buffer(policy: &Connection) -> Option<usize> {
    policy
        .receive_buffer
        .or(policy.throttle.map(|_| SLOW_WINDOW as usize))
}

fn set_number(
    socket: &OwnedFd,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the option's value is one c_int as its size says.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&value as *const libc::c_int).cast(),
            std::mem::size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    match answer {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns the error of a failed connect on this socket.
pub fn error_of(socket: &OwnedFd) -> Option<io::Error> {
    match sockopt::get_socket_error(socket.as_fd()) {
        Ok(Ok(())) => None,
        Ok(Err(error)) | Err(error) => Some(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn when_the_ports_of_a_loopback_source_run_out_the_next_is_used() {
        let mut source = Source::new(&Sources::Automatic, 0);
        assert_eq!(source.choose(), None);
        let to = address("127.0.0.1:80");
        for last in 2..=250 {
            assert!(source.change(&to));
            assert_eq!(
                source.choose(),
                Some(IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)))
            );
        }
        assert!(!source.change(&to), "127.0.0.250 is the last source");
        assert_eq!(source.changes, 249);
    }

    #[test]
    fn sources_outside_the_loopback_range_are_not_replaced() {
        let fixed = Sources::Fixed(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]);
        assert!(!Source::new(&fixed, 0).change(&address("127.0.0.1:80")));
        assert!(!Source::new(&Sources::Automatic, 0).change(&address("192.0.2.1:80")));
    }

    #[test]
    fn a_connection_comes_from_the_chosen_loopback_address() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let to = listener.local_addr().expect("bound");
        let mut source = Source::new(&Sources::Automatic, 0);
        assert!(source.change(&to));
        let socket = connect(&to, &Connection::default(), &mut source).expect("a connection");
        let (_, peer) = listener.accept().expect("it comes");
        assert_eq!(peer.ip(), IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2)));
        drop(socket);
    }
}

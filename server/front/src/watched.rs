//! Descriptors the loop watches for being readable: listeners, and processes that may end. Options of TCP that have no name elsewhere.
#![allow(unsafe_code)] // tokio asks for a promise about the descriptor's life; setsockopt(2)

use rustix::net::sockopt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

pub fn watched(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an OwnedFd answers the same open descriptor for as long as it lives, and the AsyncFd owns it.
    unsafe {
        Ok(AsyncFd::register_with_interest(
            descriptor,
            Interest::READABLE,
        )?)
    }
}

/// A connection is accepted once its client has sent something, or a second after it has not: its request is then
/// read at once, without waiting (tcp(7), `TCP_DEFER_ACCEPT`; Apache's `AcceptFilter http data`).
pub fn defer_accept(listener: &impl AsFd) -> io::Result<()> {
    const SECONDS: libc::c_int = 1;
    set_tcp_option(listener, libc::TCP_DEFER_ACCEPT, SECONDS)
}

/// Where the server may be the one who speaks first.
pub fn accept_at_once(listener: &impl AsFd) -> io::Result<()> {
    set_tcp_option(listener, libc::TCP_DEFER_ACCEPT, 0)
}

/// BBR paces what it sends by timers, to probe a path. Among connections of one host there is none, and the timers cost twice what sending does.
/// A connection has this from its listener: taken away from one that stands, the timers stay.
pub fn send_unpaced(listener: &impl AsFd) -> io::Result<()> {
    match is_paced(listener) {
        true => Ok(sockopt::set_tcp_congestion(listener, "reno")?),
        false => Ok(()),
    }
}

/// Whether what is sent through a socket is paced.
pub fn is_paced(socket: &impl AsFd) -> bool {
    sockopt::get_tcp_congestion(socket).is_ok_and(|name| name.starts_with("bbr"))
}

/// No more than this waits in the socket for its turn to be sent (`TCP_NOTSENT_LOWAT`): we send what goes, and come back for the rest.
/// What a socket has taken beyond the client's window is sent by whoever handles the acknowledgement; on one host that is the client,
/// between two of its reads. Worth it where sending is paced: elsewhere it is many small pieces for nothing.
pub fn keep_little_unsent(socket: &impl AsFd) -> io::Result<()> {
    const BYTES: libc::c_int = 16 * 1024;
    set_tcp_option(socket, libc::TCP_NOTSENT_LOWAT, BYTES)
}

fn set_tcp_option(socket: &impl AsFd, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = std::mem::size_of_val(&value) as libc::socklen_t;
    // SAFETY: the descriptor is open for the call, and the kernel reads one integer of ours.
    let done = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            option,
            (&raw const value).cast(),
            length,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn what_a_listener_accepts_is_not_paced_once_it_sends_unpaced() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        // Where the system has no BBR its own choice has to stay.
        let has_bbr = sockopt::set_tcp_congestion(&listener, "bbr").is_ok();
        let before = sockopt::get_tcp_congestion(&listener).expect("a name");
        assert_eq!(is_paced(&listener), has_bbr, "{before}");
        send_unpaced(&listener).expect("allowed to everybody");
        let _client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        let (accepted, _) = listener.accept().expect("accepted");
        let after = sockopt::get_tcp_congestion(&accepted).expect("a name");
        match has_bbr {
            true => assert_eq!(after, "reno"),
            false => assert_eq!(after, before),
        }
    }
}

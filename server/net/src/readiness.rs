//! Registers descriptors whose readability the event loop watches: listeners, and processes that
//! may end. Also sets TCP options that rustix lacks.
#![allow(unsafe_code)] // tokio asks for a promise about the descriptor's life; setsockopt(2)

use rustix::net::sockopt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

/// Registers a descriptor with the event loop.
///
/// # Errors
///
/// The error of the registration.
pub fn register(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an OwnedFd refers to the same open descriptor for its whole life, and the AsyncFd
    // owns it.
    unsafe {
        Ok(AsyncFd::register_with_interest(
            descriptor,
            Interest::READABLE,
        )?)
    }
}

/// Makes a listener accept a connection only after the client has sent something, or after a
/// second. The request can then be read without waiting (tcp(7), `TCP_DEFER_ACCEPT`; Apache's
/// `AcceptFilter http data`).
///
/// # Errors
///
/// The error of setsockopt(2).
pub fn defer_accept(listener: &impl AsFd) -> io::Result<()> {
    const SECONDS: libc::c_int = 1;
    set_tcp_option(listener, libc::TCP_DEFER_ACCEPT, SECONDS)
}

/// Makes a listener accept connections at once, for protocols in which the server speaks first.
///
/// # Errors
///
/// The error of setsockopt(2).
pub fn accept_at_once(listener: &impl AsFd) -> io::Result<()> {
    set_tcp_option(listener, libc::TCP_DEFER_ACCEPT, 0)
}

/// Turns off pacing for a connection within this host. BBR paces by timers to probe a path, but
/// there is no path here.
///
/// # Errors
///
/// The error of setsockopt(2).
pub fn send_unpaced(socket: &impl AsFd) -> io::Result<()> {
    let name = sockopt::get_tcp_congestion(socket)?;
    if !name.starts_with("bbr") {
        return Ok(());
    }
    Ok(sockopt::set_tcp_congestion(socket, "reno")?)
}

fn set_tcp_option(socket: &impl AsFd, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = std::mem::size_of_val(&value) as libc::socklen_t;
    // SAFETY: the descriptor is open during the call, and the kernel reads one integer of ours.
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
    fn send_unpaced_replaces_bbr_and_keeps_other_algorithms() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        let name = || sockopt::get_tcp_congestion(&client).expect("a name");
        sockopt::set_tcp_congestion(&client, "reno").expect("every system has it");
        send_unpaced(&client).expect("nothing to do");
        assert_eq!(name(), "reno");
        // Not every system has BBR.
        if sockopt::set_tcp_congestion(&client, "bbr").is_ok() {
            send_unpaced(&client).expect("allowed to everybody");
            assert_eq!(name(), "reno");
        }
    }
}

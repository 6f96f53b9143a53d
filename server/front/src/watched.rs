//! Descriptors the loop watches for being readable: listeners, and processes that may end.
#![allow(unsafe_code)] // tokio asks for a promise about the descriptor's life

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
    let seconds: libc::c_int = 1;
    let length = std::mem::size_of_val(&seconds) as libc::socklen_t;
    // SAFETY: the descriptor is open for the call, and the kernel reads one integer of ours.
    let done = unsafe {
        libc::setsockopt(
            listener.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_DEFER_ACCEPT,
            (&raw const seconds).cast(),
            length,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

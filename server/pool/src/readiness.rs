//! Descriptors the runtime watches.
#![allow(unsafe_code)] // tokio asks for a promise about the descriptor's life

use rustix::fd::AsRawFd;
use std::io;
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

/// Watches a descriptor that `owner` owns for being readable.
pub fn readable<T: AsRawFd>(owner: T) -> io::Result<AsyncFd<T>> {
    // SAFETY: every type given here owns one descriptor for its whole life and never exchanges it.
    unsafe { AsyncFd::register_with_interest(owner, Interest::READABLE) }.map_err(io::Error::from)
}

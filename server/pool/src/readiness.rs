//! Descriptors the runtime watches.
#![allow(unsafe_code)] // tokio asks for a promise about the descriptor's life

use rustix::fd::AsRawFd;
use std::io;
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

/// Watches a descriptor that `owner` owns for being readable.
pub fn readable<T: AsRawFd>(owner: T) -> io::Result<AsyncFd<T>> {
    watched(owner, Interest::READABLE)
}

/// Watches it for being writable as well.
pub fn both_ways<T: AsRawFd>(owner: T) -> io::Result<AsyncFd<T>> {
    watched(owner, Interest::READABLE | Interest::WRITABLE)
}

fn watched<T: AsRawFd>(owner: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    // SAFETY: every type given here owns one descriptor for its whole life and never exchanges it.
    unsafe { AsyncFd::register_with_interest(owner, interest) }.map_err(io::Error::from)
}

//! Registers descriptors with the runtime, which then watches them, and reads control messages.
#![allow(unsafe_code)] // tokio asks for a promise about the descriptor's life

use mehari_wire::{ControlSocket, Message};
use rustix::fd::AsRawFd;
use std::io;
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

/// Watches the descriptor of `owner` for readability.
pub fn readable<T: AsRawFd>(owner: T) -> io::Result<AsyncFd<T>> {
    register(owner, Interest::READABLE)
}

/// Watches the descriptor of `owner` for readability and writability.
pub fn register_both_ways<T: AsRawFd>(owner: T) -> io::Result<AsyncFd<T>> {
    register(owner, Interest::READABLE | Interest::WRITABLE)
}

fn register<T: AsRawFd>(owner: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    // SAFETY: every type used here owns one descriptor for its whole life and never replaces it.
    unsafe { AsyncFd::register_with_interest(owner, interest) }.map_err(io::Error::from)
}

/// Returns the next message. `None`: the other process has ended.
pub async fn next_message(control: &AsyncFd<ControlSocket>) -> io::Result<Option<Message>> {
    loop {
        let mut ready = control.readable().await?;
        match ready.try_io(|socket| socket.get_ref().receive()) {
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            Ok(message) => return message,
            Err(_would_block) => continue,
        }
    }
}

//! Implements the mailbox between the front and a worker, and the control messages between the
//! front and a zygote.
//!
//! This crate is the front's end. `perl/xs/mailbox/` and `perl/xs/process/control.c` are the other
//! end. The front does not trust the other end, so it checks every length before using it.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]
#![allow(unsafe_code)] // shared memory; each block has its SAFETY reason

mod bell;
mod control;
pub mod handshake;
pub mod layout;
mod mailbox;
mod memory;
mod ring;

pub use bell::Bell;
pub use control::{
    parts, receive_file, receive_with_files, send_with_files, ControlSocket, Message,
};
pub use mailbox::{read_request, write_request, Mailbox};
pub use ring::{Corrupt, Record};

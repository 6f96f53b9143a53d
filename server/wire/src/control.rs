//! Sends and receives control messages between the front and a zygote. Each message is one datagram
//! on a SEQPACKET pair (unix(7)), with descriptors beside the text.

use crate::layout::{Control, CONTROL_TEXT};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::net::{
    recvmsg, sendmsg, socketpair, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage,
    RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use std::io::{self, IoSlice, IoSliceMut};

pub struct ControlSocket {
    socket: OwnedFd,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Message {
    pub head: Control,
    pub text: Vec<u8>,
}

const HEAD: usize = std::mem::size_of::<Control>();

impl ControlSocket {
    /// Makes a connected pair: the front's end (non-blocking) and the other process's end
    /// (blocking).
    ///
    /// # Errors
    ///
    /// The error of socketpair(2), or of making the front's end non-blocking.
    pub fn pair() -> io::Result<(ControlSocket, OwnedFd)> {
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        Ok((ControlSocket { socket: ours }, theirs))
    }

    /// Shuts the socket down in both directions. Both ends then read end-of-file, even while
    /// another process holds a copy of the descriptor.
    pub fn hang_up(&self) {
        // The other end may be closed already.
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::ReadWrite);
    }

    /// Sends one message with its descriptors.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the text is longer than [`CONTROL_TEXT`]. Otherwise the error of
    /// sendmsg(2), such as `WouldBlock` if the other process does not read.
    pub fn send(
        &self,
        kind: u32,
        slot: u32,
        text: &[u8],
        files: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        if text.len() > CONTROL_TEXT {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("a control text is at most {CONTROL_TEXT} bytes"),
            ));
        }
        self.send_part(kind, slot, 0, text, files)
    }

    /// Sends one of the messages that a long text is split into. [`parts`] gives the texts and
    /// their `status`.
    ///
    /// # Errors
    ///
    /// The error of sendmsg(2), such as `WouldBlock` if the other process does not read.
    pub fn send_part(
        &self,
        kind: u32,
        slot: u32,
        status: i32,
        text: &[u8],
        files: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let mut head = [0u8; HEAD];
        head[0..4].copy_from_slice(&kind.to_ne_bytes());
        head[4..8].copy_from_slice(&slot.to_ne_bytes());
        head[12..16].copy_from_slice(&status.to_ne_bytes());
        head[16..20].copy_from_slice(&(text.len() as u32).to_ne_bytes());
        send_with_files(
            &self.socket,
            &[IoSlice::new(&head), IoSlice::new(text)],
            files,
        )
    }

    /// Receives the next message. Returns `None` if the other end is closed.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if no message has arrived yet, or the error of recv(2).
    pub fn receive(&self) -> io::Result<Option<Message>> {
        let mut bytes = [0u8; HEAD + CONTROL_TEXT];
        let got = rustix::net::recv(&self.socket, &mut bytes, RecvFlags::empty())?;
        if got < HEAD {
            return Ok(None);
        }
        Message::parse(&bytes[..got]).map(Some)
    }

    /// Makes a socket of the other process's end, such as its standard input.
    pub fn of(socket: OwnedFd) -> ControlSocket {
        ControlSocket { socket }
    }
}

/// Receives the next message with its descriptors, at most 4. Returns `None` if the other end is
/// closed. The descriptors are closed when a program is started.
///
/// # Errors
///
/// `InvalidData` for a message without a head, or the error of recvmsg(2).
pub fn receive_with_files(socket: &impl AsFd) -> io::Result<Option<(Message, Vec<OwnedFd>)>> {
    let mut bytes = [0u8; HEAD + CONTROL_TEXT];
    let mut space = [0u8; rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let received = recvmsg(socket, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let files = ancillary.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => files.collect(),
        _ => Vec::new(),
    });
    let files: Vec<OwnedFd> = files.collect();
    match received.bytes {
        0 => Ok(None),
        got => Ok(Some((Message::parse(&bytes[..got])?, files))),
    }
}

impl Message {
    fn parse(bytes: &[u8]) -> io::Result<Message> {
        let Some((head, text)) = bytes.split_at_checked(HEAD) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let word = |at: usize| [head[at], head[at + 1], head[at + 2], head[at + 3]];
        let head = Control {
            kind: u32::from_ne_bytes(word(0)),
            slot: u32::from_ne_bytes(word(4)),
            pid: i32::from_ne_bytes(word(8)),
            status: i32::from_ne_bytes(word(12)),
            length: u32::from_ne_bytes(word(16)),
        };
        let text = text.to_vec();
        Ok(Message { head, text })
    }
}

impl AsFd for ControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for ControlSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// Splits a text of any length into control messages. Each part comes with its `status`: 0 for the
/// last part, 1 for all other parts.
pub fn parts(text: &[u8]) -> impl Iterator<Item = (i32, &[u8])> {
    let last = text.len().saturating_sub(1) / CONTROL_TEXT;
    (0..=last).map(move |number| {
        let rest = &text[number * CONTROL_TEXT..];
        (
            i32::from(number < last),
            &rest[..rest.len().min(CONTROL_TEXT)],
        )
    })
}

/// Sends one datagram with at most 4 descriptors.
///
/// # Errors
///
/// `InvalidInput` for more than 4 descriptors, or the error of sendmsg(2).
pub fn send_with_files(
    socket: &impl AsFd,
    parts: &[IoSlice<'_>],
    files: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut space = [0u8; rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "at most 4 descriptors",
        ));
    }
    sendmsg(socket, parts, &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives the descriptor that was sent with the number `id`. Descriptors with other numbers are
/// closed.
///
/// # Errors
///
/// `WouldBlock` if the descriptor has not been sent yet. `InvalidData` for a datagram without a
/// descriptor.
pub fn receive_file(socket: &impl AsFd, id: u64) -> io::Result<OwnedFd> {
    loop {
        let mut number = [0u8; 8];
        let mut space = [0u8; rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = recvmsg(
            socket,
            &mut [IoSliceMut::new(&mut number)],
            &mut ancillary,
            flags,
        )?;
        let file = ancillary.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        match file {
            Some(file) if received.bytes == number.len() && u64::from_ne_bytes(number) == id => {
                return Ok(file);
            }
            Some(_) => {}
            None => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

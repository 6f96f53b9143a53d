//! Receives bytes together with the time of their arrival, which the kernel notes.
//!
//! A sleeping thread wakes tens of microseconds late on a shared core, and hundreds on a virtual
//! machine. If the thread read the clock itself, the times would include this delay. Each socket
//! therefore asks for SO_TIMESTAMPNS, and one recvmsg returns the bytes and the wall-clock arrival
//! time of the last byte (socket(7); TCP since Linux 4.13). The module `wall` turns this time into
//! a moment.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketType};

/// Wall-clock arrival time of the last byte in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(pub u64);

/// The result of one read.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    pub count: usize,
    /// The arrival time. `None` at the end of the connection, or if the kernel makes no stamps.
    pub stamp: Option<Stamp>,
}

/// Asks the kernel for stamps on a socket. If the kernel refuses, the caller's clock gives the
/// times.
pub fn ask_for_stamps(socket: impl AsFd) {
    let yes: libc::c_int = 1;
    // SAFETY: the descriptor is open, and the option's value is one c_int as its size says.
    unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&yes as *const libc::c_int).cast(),
            std::mem::size_of::<libc::c_int>() as libc::socklen_t,
        );
    }
}

/// Keeps the kernel's stamping on while the returned socket is open. The kernel turns stamping on
/// when the first socket asks for stamps, and off when the last such socket is closed. Turning it
/// on takes some time, because the kernel changes its own code.
pub fn keep_stamping() -> Option<OwnedFd> {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None).ok()?;
    ask_for_stamps(&socket);
    Some(socket)
}

/// Room for one control message with a timespec.
#[repr(C, align(8))]
struct Control([MaybeUninit<u8>; CONTROL_BYTES]);

// SAFETY: the call is a calculation without pointers.
const CONTROL_BYTES: usize =
    unsafe { libc::CMSG_SPACE(std::mem::size_of::<libc::timespec>() as u32) } as usize;

/// Receives bytes like recv(2), together with their stamp.
pub fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<Received> {
    let mut control = Control([MaybeUninit::uninit(); CONTROL_BYTES]);
    let mut piece = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: all zeros is a message header without parts, and the parts set below outlive the
    // call.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &mut piece;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL_BYTES as _;
    // SAFETY: the header points to a buffer and a control buffer of the given lengths, and no other
    // code uses them.
    let count = unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, 0) };
    match usize::try_from(count) {
        Ok(count) => Ok(Received {
            count,
            stamp: stamp(&message),
        }),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Returns the stamp among the control messages of a successful recvmsg.
fn stamp(message: &libc::msghdr) -> Option<Stamp> {
    // SAFETY: the kernel has written `msg_controllen` bytes of whole control messages to
    // `msg_control`, which is aligned for them. The macro returns null if they hold no header.
    let header = unsafe { libc::CMSG_FIRSTHDR(message).as_ref() }?;
    let wanted = (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS);
    let length = std::mem::size_of::<libc::cmsghdr>() + std::mem::size_of::<libc::timespec>();
    if (header.cmsg_level, header.cmsg_type) != wanted || (header.cmsg_len as usize) < length {
        return None;
    }
    // SAFETY: the message is a timespec by its type and long enough by its length.
    let time = unsafe {
        libc::CMSG_DATA(header)
            .cast::<libc::timespec>()
            .read_unaligned()
    };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    Some(Stamp(seconds * 1_000_000_000 + time.tv_nsec as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, SystemTime};

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let (server, _) = listener.accept().expect("it came");
        (client, server)
    }

    fn wall() -> u64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.expect("after 1970").as_nanos() as u64
    }

    #[test]
    fn bytes_read_late_have_the_stamp_of_their_arrival() {
        let _kept = keep_stamping();
        let (client, mut server) = pair();
        ask_for_stamps(&client);
        let client = OwnedFd::from(client);
        let mut buffer = [0; 16];
        // Stamping starts some time after the first request for it, so the test waits for the first
        // stamp.
        for _ in 0..200 {
            server.write_all(b"x").expect("room");
            if receive(&client, &mut buffer)
                .expect("a byte")
                .stamp
                .is_some()
            {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let before = wall();
        server.write_all(b"hello").expect("room");
        let after = wall();
        std::thread::sleep(Duration::from_millis(20));
        let received = receive(&client, &mut buffer).expect("five bytes");
        assert_eq!(&buffer[..received.count], b"hello");
        let Stamp(stamp) = received.stamp.expect("a stamp");
        assert!(
            (before..=after).contains(&stamp),
            "{before} {stamp} {after}"
        );
    }

    #[test]
    fn a_socket_that_did_not_ask_for_stamps_gets_none_and_the_end_has_none() {
        let (client, mut server) = pair();
        server.write_all(b"hello").expect("room");
        let client = OwnedFd::from(client);
        let mut buffer = [0; 16];
        let received = receive(&client, &mut buffer).expect("five bytes");
        assert_eq!((received.count, received.stamp), (5, None));
        server
            .shutdown(std::net::Shutdown::Write)
            .expect("it was open");
        let received = receive(&client, &mut buffer).expect("the end");
        assert_eq!((received.count, received.stamp), (0, None));
        drop(client);
        assert_eq!(server.read(&mut buffer).expect("the end"), 0);
    }
}

//! Wraps the kernel's event queue (epoll(7)): edge-triggered, with waits in nanoseconds.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::moment::Moment;

/// What has happened on one descriptor.
#[derive(Clone, Copy)]
pub struct Event(libc::epoll_event);

impl Event {
    pub fn token(&self) -> u64 {
        self.0.u64
    }

    pub fn readable(&self) -> bool {
        self.0.events & (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32
            != 0
    }

    pub fn writable(&self) -> bool {
        self.0.events & (libc::EPOLLOUT | libc::EPOLLHUP | libc::EPOLLERR) as u32 != 0
    }

    /// Returns whether the other side has finished sending or the connection is broken. The socket
    /// must be read to its end.
    pub fn ending(&self) -> bool {
        self.0.events & (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32 != 0
    }
}

pub struct Epoll {
    queue: OwnedFd,
    events: Vec<libc::epoll_event>,
    ready: usize,
}

const EVENTS_A_WAIT: usize = 512;

impl Epoll {
    pub fn new() -> io::Result<Epoll> {
        // SAFETY: the call takes no pointers, and its result is checked before it is owned.
        let descriptor = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just created and has no other owner.
        let queue = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let empty = libc::epoll_event { events: 0, u64: 0 };
        Ok(Epoll {
            queue,
            events: vec![empty; EVENTS_A_WAIT],
            ready: 0,
        })
    }

    /// Watches a socket for all events until the socket is closed.
    pub fn watch(&self, socket: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        let events = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        let mut event = libc::epoll_event {
            events: events as u32,
            u64: token,
        };
        // SAFETY: both descriptors are open during the call, and `event` is a valid epoll_event.
        let answer = unsafe {
            libc::epoll_ctl(
                self.queue.as_raw_fd(),
                libc::EPOLL_CTL_ADD,
                socket.as_raw_fd(),
                &mut event,
            )
        };
        match answer {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Waits until a descriptor is ready or the moment `until` has come. Returns the number of
    /// events.
    pub fn wait(&mut self, now: Moment, until: Moment) -> usize {
        let wait = until.since(now);
        let limit = libc::timespec {
            tv_sec: (wait / 1_000_000_000).min(1_000_000) as libc::time_t,
            tv_nsec: (wait % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: `events` has room for the given number, `limit` lives through the call, and there
        // is no signal mask.
        let ready = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.queue.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len() as libc::c_int,
                &limit as *const libc::timespec,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        // An interrupted wait counts as a wait without events. Other errors cannot occur with valid
        // arguments.
        self.ready = usize::try_from(ready).unwrap_or(0);
        self.ready
    }

    pub fn event(&self, index: usize) -> Event {
        Event(self.events[index])
    }
}

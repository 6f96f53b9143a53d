//! One worker as the front sees it: its mailbox, what it holds, how long.

use crate::arrived::Owed;
use crate::zygote::kill_group;
use mehari_observe::Origin;
use mehari_wire::{receive_file, send_with_files, Mailbox};
use rustix::fd::{AsFd, OwnedFd};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::time::{Duration, Instant};

/// Workers that had a request and, as they or their mailboxes say, did not begin it.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tries {
    pub handed_back: u16,
    /// Of those, the ones that died with it as the first of theirs: nothing but the mailbox is left to say so.
    pub deaths: u8,
}

/// A request a worker holds. The first of them is the one it runs (or will run next).
pub struct Held {
    pub owed: Owed,
    pub request_id: u64,
    pub frame_length: usize,
    pub body_file: Option<OwnedFd>,
    pub timeout: Duration,
    pub tries: Tries,
    /// The last record of its response is here: only the worker's own cleanup is left.
    pub ended: bool,
    pub head_seen: bool,
    /// The rest of its response comes through a pipe.
    pub tapped: bool,
}

impl Held {
    /// Something of its response is here.
    pub fn has_begun(&self) -> bool {
        self.head_seen || self.tapped || self.ended
    }
}

/// Who a log line about a request that a worker holds is of.
pub fn origin(held: &Held, pid: u32) -> Origin {
    Origin {
        request: Some(held.request_id),
        worker: Some(pid),
        ..Origin::default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Forked, not yet reported.
    Starting,
    Serving,
    /// Gets nothing more; ends when what it holds is done.
    Retiring,
}

pub struct Worker {
    pub mailbox: Mailbox,
    /// Our end of its descriptor socket; closing it ends an idle worker.
    pub socket: Option<OwnedFd>,
    pub pid: u32,
    pub generation: u32,
    /// Its place in [`crate::inner::Inner::teams`].
    pub team: usize,
    pub state: State,
    pub held: VecDeque<Held>,
    /// When the first of `held` became the first.
    pub head_since: Instant,
    pub needs_wake: bool,
    pub in_idle: bool,
    /// Of that time, what it waited for its client.
    pub waited: Duration,
    /// Told to write its stack down; it is killed a moment later.
    pub warned: Option<Instant>,
    /// The front killed it for what it did with the first request that it holds.
    pub killed: bool,
    pub served: u64,
    /// Requests after which it is replaced.
    pub limit: Option<u64>,
    pub replacement_asked: bool,
    pub started: Instant,
}

impl Worker {
    pub fn depth(&self) -> usize {
        self.held.len()
    }

    pub fn is_serving(&self) -> bool {
        self.state == State::Serving
    }

    /// Whether it has taken the first of what it holds, by what it says itself.
    pub fn has_begun(&self) -> bool {
        let waiting = self.mailbox.waiting();
        waiting.is_ok_and(|waiting| (waiting as usize) < self.held.len())
    }

    /// The request it runs has run this long; zero when it holds none.
    pub fn head_age(&self, now: Instant) -> Duration {
        if self.held.is_empty() {
            Duration::ZERO
        } else {
            now.saturating_duration_since(self.head_since)
        }
    }

    /// Sends a body's descriptor ahead of its request.
    pub fn send_body_file(&self, request_id: u64, file: &OwnedFd) -> io::Result<()> {
        let socket = self.socket.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        let id = request_id.to_ne_bytes();
        send_with_files(socket, &[IoSlice::new(&id)], &[file.as_fd()])
    }

    /// The pipe it has announced for this request.
    pub fn receive_tap(&self, request_id: u64) -> io::Result<OwnedFd> {
        let socket = self.socket.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        receive_file(socket, request_id)
    }

    /// Ends the worker once it is idle.
    pub fn dismiss(&mut self) {
        self.socket = None;
        self.mailbox.wake_always();
    }

    /// A signal for the worker alone; what it runs for a request hears it from the worker.
    pub fn signal(&self, signal: i32) {
        if self.pid > 1 {
            crate::zygote::kill_one(self.pid, signal);
        }
    }

    /// Its process has ended, whether or not that was reported.
    pub fn is_gone(&self) -> bool {
        !about(self.pid).is_some_and(|process| !matches!(process.state, b'Z' | b'X'))
    }

    /// Kills the worker, and all that it or its child on the rung `fork` started and did not detach.
    pub fn kill(&self) {
        if self.pid <= 1 {
            return;
        }
        let child = self.mailbox.child();
        if leads_group_below(child, self.pid) {
            kill_group(child, libc::SIGKILL);
        }
        kill_group(self.pid, libc::SIGKILL);
    }
}

struct Process {
    state: u8,
    parent: u32,
    group: u32,
}

/// As /proc shows it; `None`: there is none.
fn about(pid: u32) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = stat.rsplit_once(')')?.1.split_whitespace();
    Some(Process {
        state: *words.next()?.as_bytes().first()?,
        parent: words.next()?.parse().ok()?,
        group: words.next()?.parse().ok()?,
    })
}

/// Whether `child` leads a process group and its parent is of the worker's group. The worker names it, and may
/// name anything.
fn leads_group_below(child: u32, worker: u32) -> bool {
    child > 1
        && about(child).is_some_and(|it| {
            it.group == child && about(it.parent).is_some_and(|parent| parent.group == worker)
        })
}

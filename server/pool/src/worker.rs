//! One worker as the front sees it: the worker's mailbox, its requests and how long they run.

use crate::arrived::Owed;
use crate::call::{RunningRequest, TimeLimits};
use crate::deferral::{deferring_request, Deferring};
use crate::frame;
use crate::launcher::{orders, Launcher};
use crate::memory::MemoryHistory;
use crate::program::{kill_group, kill_one};
use crate::script::{Script, Templates};
use crate::worn::Worn;
use mehari_config::LogLevel;
use mehari_observe::Origin;
use mehari_wire::{receive_file, send_with_files, Mailbox};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{socketpair, AddressFamily, SocketFlags, SocketType};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Counts the workers that had a request and did not start it. That they did not start it is known
/// only from the workers or their mailboxes.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tries {
    pub put_back: u16,
    /// How many of these workers died while the request was their first. Only their mailboxes say
    /// that they had not started it.
    pub deaths: u8,
}

/// A request that a worker holds. The first one runs, or will run next.
pub struct HeldRequest {
    pub owed: Owed,
    pub request_id: u64,
    /// The number of the virtual host, whose log gets the messages about the request.
    pub host: u32,
    pub script: Option<Script>,
    pub frame_length: usize,
    pub body_file: Option<OwnedFd>,
    pub timeout: TimeLimits,
    /// See [`Call::log_level`](crate::Call::log_level).
    pub log_level: Option<LogLevel>,
    pub tries: Tries,
    /// Whether the last record of the response has arrived, so that only the worker's cleanup is
    /// left.
    pub ended: bool,
    pub head_seen: bool,
    /// Whether a pipe carries the rest of the response.
    pub tapped: bool,
    /// Whether the front's response went to the worker's filters.
    pub fetched: bool,
    /// Whether the worker waits for the answer to a question in `open_questions`.
    pub has_open_question: bool,
    pub deferring: Deferring,
}

impl HeldRequest {
    /// Returns how long ago the request came.
    pub fn waited(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.owed.arrived().submitted)
    }

    /// Whether any part of the response has arrived.
    pub fn has_begun(&self) -> bool {
        self.head_seen || self.tapped || self.ended
    }
}

/// Returns the origin of a log line about a request that a worker holds.
pub fn origin(held: &HeldRequest, pid: u32) -> Origin {
    Origin {
        request: Some(deferring_request(held.request_id)),
        worker: Some(pid),
        host: held.host,
        level: held.log_level,
        ..Origin::default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerState {
    /// The worker was forked, but the zygote has not reported it yet.
    Starting,
    Serving,
    /// The worker gets no further requests and ends after its current ones.
    Retiring,
}

pub struct Worker {
    pub mailbox: Mailbox,
    /// The front's end of the worker's descriptor socket. Closing it ends an idle worker.
    pub socket: Option<OwnedFd>,
    pub pid: u32,
    pub generation: u32,
    /// Index of the generation's zygote that has forked the worker.
    pub perl: usize,
    /// The launcher of the worker's pool, which signals the worker. `None`: the front does.
    pub launcher: Option<Rc<Launcher>>,
    /// Index into [`crate::inner::Inner::teams`].
    pub team: usize,
    pub state: WorkerState,
    pub held: VecDeque<HeldRequest>,
    /// The scripts on the rungs `rewind` and `auto` of which the worker keeps a template.
    pub templates: Templates,
    /// The time at which the first request of `held` became the first.
    pub head_since: Instant,
    /// How long the last finished request took.
    pub last_took: Duration,
    pub needs_wake: bool,
    pub in_idle: bool,
    /// The part of the time since `head_since` in which the worker waited for its client.
    pub waited: Duration,
    /// The time at which the worker was told to write its stack. The worker is killed a moment
    /// later.
    pub warned: Option<Instant>,
    /// Whether the worker was told to write the stack of its slow first request.
    pub told_slow: bool,
    /// Whether the front killed the worker because of its first request.
    pub killed: bool,
    pub served: u64,
    /// The number of requests after which the worker is replaced.
    pub limit: Option<u64>,
    /// How long the worker lives before it is replaced.
    pub lifetime: Option<Duration>,
    /// The limit that the worker has reached.
    pub worn: Option<Worn>,
    pub replacement_asked: bool,
    pub started: Instant,
    pub memory: MemoryHistory,
}

/// A worker that ends earlier may have failed to start.
const START: Duration = Duration::from_millis(100);

impl Worker {
    /// Returns whether the worker has started and sleeps until a request comes. If such a worker
    /// ends, its start is not the cause: the kernel may have killed many workers at once.
    pub fn has_waited(&self) -> bool {
        self.mailbox.sleeps() && self.started.elapsed() >= START
    }

    /// Makes a worker that a zygote will fork. `templates`: the most that the worker keeps. Also
    /// returns the worker's end of the descriptor socket.
    pub fn new(generation: u32, team: usize, templates: usize) -> io::Result<(Worker, OwnedFd)> {
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        let worker = Worker {
            mailbox: Mailbox::create()?,
            socket: Some(ours),
            pid: 0,
            generation,
            perl: 0,
            launcher: None,
            team,
            state: WorkerState::Starting,
            held: VecDeque::new(),
            templates: Templates::at_most(templates),
            head_since: Instant::now(),
            last_took: Duration::ZERO,
            waited: Duration::ZERO,
            needs_wake: false,
            in_idle: false,
            warned: None,
            told_slow: false,
            killed: false,
            served: 0,
            limit: None,
            lifetime: None,
            worn: None,
            replacement_asked: false,
            started: Instant::now(),
            memory: Default::default(),
        };
        Ok((worker, theirs))
    }

    pub fn depth(&self) -> usize {
        self.held.len()
    }

    pub fn is_serving(&self) -> bool {
        self.state == WorkerState::Serving
    }

    /// Whether the worker's mailbox says that it has taken the first request.
    pub fn has_begun(&self) -> bool {
        let waiting = self.mailbox.waiting();
        waiting.is_ok_and(|waiting| (waiting as usize) < self.held.len())
    }

    /// Whether the worker's request waits for an answer of the front, which may need other workers.
    pub fn waits_for_front(&self) -> bool {
        let first = self.held.front();
        first.is_some_and(|held| held.owed.arrived().listens)
    }

    /// Returns how long the current request has run. Zero without a request.
    pub fn head_age(&self, now: Instant) -> Duration {
        if self.held.is_empty() {
            Duration::ZERO
        } else {
            now.saturating_duration_since(self.head_since)
        }
    }

    /// Returns the first request that the worker holds.
    pub fn running_request(&mut self) -> Option<RunningRequest> {
        let length = self.held.front()?.frame_length;
        frame::running_request(self.mailbox.first_slot().get(..length)?)
    }

    /// Sends a body's descriptor before its request.
    pub fn send_body_file(&self, request_id: u64, file: &OwnedFd) -> io::Result<()> {
        let socket = self.socket.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        let id = request_id.to_ne_bytes();
        send_with_files(socket, &[IoSlice::new(&id)], &[file.as_fd()])
    }

    /// Receives the pipe, socket or file that the worker announced for this request.
    pub fn receive_file(&self, request_id: u64) -> io::Result<OwnedFd> {
        let socket = self.socket.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        receive_file(socket, request_id)
    }

    /// Ends the worker once it is idle.
    pub fn dismiss(&mut self) {
        self.socket = None;
        self.mailbox.tell_to_end();
    }

    /// Sends a signal to the worker alone. The worker passes the signal on to the process that runs
    /// the request.
    pub fn signal(&self, signal: i32) {
        match &self.launcher {
            _ if self.pid <= 1 => {}
            Some(launcher) => launcher.signal(orders::SIGNAL, self.pid, signal),
            None => drop(kill_one(self.pid, signal)),
        }
    }

    /// Whether the worker's process has ended, even if the zygote has not reported the end.
    pub fn is_gone(&self) -> bool {
        match about(self.pid) {
            Some(process) => matches!(process.state, b'Z' | b'X'),
            // The processes of another user may be hidden.
            None => self.launcher.is_none() || !kill_one(self.pid, 0),
        }
    }

    /// Kills the worker and all processes that it or its child started, except processes that left
    /// their group.
    pub fn kill(&self) {
        if self.pid <= 1 {
            return;
        }
        let child = self.mailbox.child();
        if leads_group_below(child, self.pid) {
            self.kill_group(child);
        }
        self.kill_group(self.pid);
    }

    fn kill_group(&self, leader: u32) {
        match &self.launcher {
            Some(launcher) => launcher.signal(orders::GROUP, leader, libc::SIGKILL),
            None => kill_group(leader, libc::SIGKILL),
        }
    }
}

struct Process {
    state: u8,
    parent: u32,
    group: u32,
}

/// Returns the process as /proc shows it. `None`: the process does not exist.
fn about(pid: u32) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = stat.rsplit_once(')')?.1.split_whitespace();
    Some(Process {
        state: *words.next()?.as_bytes().first()?,
        parent: words.next()?.parse().ok()?,
        group: words.next()?.parse().ok()?,
    })
}

/// Whether `child` leads a process group and its parent belongs to the worker's group. The worker
/// reports `child`, and the worker is not trusted.
fn leads_group_below(child: u32, worker: u32) -> bool {
    child > 1
        && about(child).is_some_and(|it| {
            it.group == child && about(it.parent).is_some_and(|parent| parent.group == worker)
        })
}

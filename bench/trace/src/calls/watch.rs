//! Records the system calls of a server while one request runs.

use super::processes::{family, process_of, threads};
use super::stops::{self, CallInfo, Stop, Tid};
use super::subject::Memories;
use super::{RecordedCall, WatchError};
use std::collections::{HashMap, HashSet};
use std::io;
use std::time::{Duration, Instant};

/// The most calls that are kept. Others are only counted.
const MOST_CALLS: usize = 500_000;
/// How long a look for the end of the request may be late.
const PAUSE: Duration = Duration::from_millis(20);
/// How long detaching may take. What is left then is detached by the end of this process.
const FAREWELL: Duration = Duration::from_secs(5);

/// A call that has begun.
struct OpenCall {
    number: u64,
    subject: Option<std::path::PathBuf>,
    from: u64,
}

/// A watch of all threads of a server. It ends when it is dropped or when this process ends,
/// however it ends: the kernel then lets the threads run freely.
pub struct CallWatch {
    /// The attached threads, each with its process.
    threads: HashMap<Tid, u32>,
    /// The calls that have begun, by their threads.
    open: HashMap<Tid, OpenCall>,
    memories: Memories,
    /// The processes that have begun during the watch.
    begun: HashSet<u32>,
    calls: Vec<RecordedCall>,
    left_out: u64,
}

/// What a watch has recorded.
pub struct Recording {
    pub calls: Vec<RecordedCall>,
    pub begun: HashSet<u32>,
    pub left_out: u64,
}

impl CallWatch {
    /// Attaches to all threads of the server's processes. A process of another user is left out,
    /// but the front itself must be watched.
    ///
    /// # Errors
    /// The kernel forbids it, or the server has gone.
    pub fn of(front: u32) -> Result<CallWatch, WatchError> {
        stops::keep_announcements().map_err(WatchError::Failed)?;
        let mut watch = CallWatch {
            threads: HashMap::new(),
            open: HashMap::new(),
            memories: Memories::default(),
            begun: HashSet::new(),
            calls: Vec::new(),
            left_out: 0,
        };
        // A process that is not attached yet may begin another one after the look at /proc.
        watch.attach(front)?;
        while watch.attach(front).unwrap_or(false) {}
        for tid in watch.threads.keys() {
            // A thread that has ended announces this.
            let _ = stops::interrupt(*tid);
        }
        Ok(watch)
    }

    /// Attaches the threads that are there and not attached. Returns whether there was one.
    ///
    /// # Errors
    /// A thread of the front cannot be attached. A new thread has perhaps been attached by the
    /// kernel.
    fn attach(&mut self, front: u32) -> Result<bool, WatchError> {
        let before = self.threads.len();
        for pid in family(front) {
            for tid in threads(pid) {
                if self.threads.contains_key(&(tid as Tid)) {
                    continue;
                }
                match stops::seize(tid as Tid) {
                    Ok(()) => drop(self.threads.insert(tid as Tid, pid)),
                    Err(error) if pid == front => return Err(WatchError::of(front, error)),
                    // Another user's, or it has ended.
                    Err(_) => {}
                }
            }
        }
        Ok(self.threads.len() > before)
    }

    /// Records calls until `is_done`, which is asked again and again, returns true.
    ///
    /// # Errors
    /// All processes of the server have ended, or the kernel does not tell their calls.
    pub fn run(&mut self, is_done: impl Fn() -> bool) -> Result<(), WatchError> {
        loop {
            match stops::next() {
                Ok(Some(stop)) => self.note(stop)?,
                Ok(None) if is_done() => return Ok(()),
                Ok(None) => stops::wait(PAUSE),
                Err(error) if error.raw_os_error() == Some(libc::ECHILD) => {
                    return if is_done() {
                        Ok(())
                    } else {
                        Err(WatchError::Gone)
                    };
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(WatchError::Failed(error)),
            }
        }
    }

    fn note(&mut self, stop: Stop) -> Result<(), WatchError> {
        let now = now();
        // A thread that has been killed meanwhile cannot go on, and announces its end.
        let _ = match stop {
            Stop::Call(tid) => {
                self.note_call(tid, now)?;
                stops::go_on(tid, 0)
            }
            Stop::Begun(tid) => {
                self.begin(tid);
                stops::go_on(tid, 0)
            }
            Stop::Event(tid) => {
                self.memories.forget(tid as u32);
                stops::go_on(tid, 0)
            }
            Stop::Suspended(tid) => stops::listen(tid),
            Stop::Signal(tid, signal) => stops::go_on(tid, signal),
            Stop::Ended(tid) => {
                self.threads.remove(&tid);
                self.open.remove(&tid);
                self.memories.forget(tid as u32);
                Ok(())
            }
        };
        Ok(())
    }

    /// Notes a thread that the kernel has attached at its start.
    fn begin(&mut self, tid: Tid) {
        if self.threads.contains_key(&tid) {
            return;
        }
        let pid = process_of(tid as u32).unwrap_or(tid as u32);
        if !self.threads.values().any(|known| *known == pid) {
            self.begun.insert(pid);
        }
        self.threads.insert(tid, pid);
    }

    fn note_call(&mut self, tid: Tid, now: u64) -> Result<(), WatchError> {
        let info = match stops::call_info(tid) {
            Ok(info) => info,
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(()),
            Err(error) => return Err(WatchError::Untold(error)),
        };
        match info {
            CallInfo::Begins { number, arguments } => {
                let name = super::name(number);
                let subject = self.memories.subject(tid as u32, name, &arguments);
                // The time for finding the path is none of the call's.
                let from = self::now();
                let call = OpenCall {
                    number,
                    subject,
                    from,
                };
                self.open.insert(tid, call);
            }
            CallInfo::Ends { result, is_error } => {
                if let Some(call) = self.open.remove(&tid) {
                    self.keep(tid, call, now, result, is_error);
                }
            }
            CallInfo::Other => {}
        }
        Ok(())
    }

    fn keep(&mut self, tid: Tid, call: OpenCall, until: u64, result: i64, is_error: bool) {
        if self.calls.len() >= MOST_CALLS {
            self.left_out += 1;
            return;
        }
        self.calls.push(RecordedCall {
            process: self.threads.get(&tid).copied().unwrap_or(tid as u32),
            name: super::name(call.number),
            subject: call.subject,
            from: call.from,
            until,
            result,
            is_error,
        });
    }

    /// Detaches from all threads.
    pub fn finish(mut self) -> Recording {
        self.detach();
        Recording {
            calls: std::mem::take(&mut self.calls),
            begun: std::mem::take(&mut self.begun),
            left_out: self.left_out,
        }
    }

    fn detach(&mut self) {
        for tid in self.threads.keys() {
            let _ = stops::interrupt(*tid);
        }
        let end = Instant::now() + FAREWELL;
        while !self.threads.is_empty() && Instant::now() < end {
            let (tid, signal) = match stops::next() {
                Ok(Some(Stop::Ended(tid))) => {
                    self.threads.remove(&tid);
                    continue;
                }
                Ok(Some(Stop::Signal(tid, signal))) => (tid, signal),
                Ok(Some(Stop::Suspended(tid))) => (tid, libc::SIGSTOP),
                Ok(Some(Stop::Call(tid) | Stop::Begun(tid) | Stop::Event(tid))) => (tid, 0),
                Ok(None) => {
                    stops::wait(PAUSE);
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // There are no more.
                Err(_) => return,
            };
            let _ = stops::detach(tid, signal);
            self.threads.remove(&tid);
        }
    }
}

impl Drop for CallWatch {
    fn drop(&mut self) {
        self.detach();
    }
}

/// Returns nanoseconds of CLOCK_MONOTONIC, as the server counts time.
fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or_default()
}

//! Kills a process at an exact place of its work, or of another process's work. The process that
//! works runs one instruction at a time under ptrace(2); after each instruction the tracer looks
//! for an effect that other processes can see.
//!
//! An effect is a change of the memory that the process shares with others, or a system call that
//! sends, receives or writes. Between two effects the process has done nothing that others could
//! notice, so a kill after each effect in turn covers every place at which the process may die.

use crate::processes::{self, Pid};
use crate::{eventually, PATIENCE};
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::uio::{process_vm_readv, RemoteIoVec};
use nix::sys::wait::{waitpid, WaitPidFlag, WaitStatus};
use nix::unistd::Pid as NixPid;
use std::io::IoSliceMut;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc};
use std::thread::{sleep, JoinHandle};
use std::time::{Duration, Instant};

/// The first bytes of a shared mapping that are compared.
const SEEN: usize = 768;
/// Bytes of a mailbox that the front writes: the number of submitted requests, the worker's sleep,
/// the front's reading position, the number of answers.
const OF_THE_FRONT: [Range<usize>; 4] = [64..68, 128..132, 256..264, 512..516];
const SYSCALL: [u8; 2] = [0x0f, 0x05];
/// Stretches that run at full speed from one system call to the next, because at most one of their
/// effects lies between two calls: the start of a script, the rest of a script from its first
/// `open` on, and the restoration of a rewound process. A stretch ends with the last of its calls.
const FAST: [(libc::c_long, &[libc::c_long]); 3] = [
    (libc::SYS_getpid, &[libc::SYS_getppid]),
    (libc::SYS_openat, &[libc::SYS_write, libc::SYS_lseek]),
    (libc::SYS_rt_sigprocmask, &[libc::SYS_rt_sigprocmask]),
];
/// The bytes of a mailbox that count the requests its worker has taken.
const TAKEN: Range<usize> = 68..72;
/// A process that makes no step for this long waits.
const WAITS: Duration = Duration::from_millis(200);

/// How the steps ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Steps {
    /// The victim was killed; the text names the last effect.
    Killed(String),
    /// The process had fewer effects before it took a second request.
    Finished,
}

/// A process under the tracer, which has a thread of its own.
pub struct Stepper {
    thread: JoinHandle<Steps>,
    all_answered: Arc<AtomicBool>,
}

impl Stepper {
    /// Attaches to a process and kills `victim` right after the effect of the process with this
    /// number, counted from 1. The victim is the process itself or another one.
    pub fn kill_after(pid: Pid, effect: usize, victim: Pid) -> Stepper {
        let (attached, is_attached) = mpsc::channel();
        let all_answered = Arc::new(AtomicBool::new(false));
        let answered = all_answered.clone();
        let thread = std::thread::spawn(move || {
            let mut tracee = Tracee::attach(pid);
            attached.send(()).expect("the caller waits");
            tracee.run(effect, victim, &answered)
        });
        is_attached.recv().expect("the process is there");
        Stepper {
            thread,
            all_answered,
        }
    }

    /// Lets the steps end once the process waits again.
    pub fn finish(self) -> Steps {
        self.all_answered.store(true, Ordering::Relaxed);
        self.thread.join().expect("the tracer")
    }
}

struct Tracee {
    pid: NixPid,
    shared: Vec<usize>,
    /// The shared memory after the last step.
    memory: Vec<u8>,
    /// The next instruction, if that is a system call.
    call: Option<libc::c_long>,
    /// The calls that the present stretch of full speed has yet to reach.
    fast_until: &'static [libc::c_long],
}

impl Tracee {
    fn attach(pid: Pid) -> Tracee {
        let shared = shared_mappings(pid);
        let pid = NixPid::from_raw(pid);
        ptrace::seize(pid, ptrace::Options::empty()).expect("tests may trace");
        ptrace::interrupt(pid).expect("it is traced");
        waitpid(pid, Some(WaitPidFlag::__WALL)).expect("it stops");
        let mut tracee = Tracee {
            pid,
            memory: vec![0; SEEN * shared.len()],
            shared,
            call: None,
            fast_until: &[],
        };
        tracee.look();
        tracee
    }

    /// Reads the shared memory and the next instruction.
    fn look(&mut self) {
        let at = ptrace::getregs(self.pid).expect("it is stopped");
        let mut next = [0; 2];
        let mut remote: Vec<_> = self
            .shared
            .iter()
            .map(|base| RemoteIoVec {
                base: *base,
                len: SEEN,
            })
            .collect();
        remote.push(RemoteIoVec {
            base: at.rip as usize,
            len: next.len(),
        });
        let mut local = [
            IoSliceMut::new(&mut self.memory),
            IoSliceMut::new(&mut next),
        ];
        process_vm_readv(self.pid, &mut local, &remote).expect("mapped memory");
        for range in OF_THE_FRONT {
            self.memory[range].fill(0);
        }
        self.call = (next == SYSCALL).then_some(at.rax as libc::c_long);
    }

    fn run(&mut self, last: usize, victim: Pid, answered: &AtomicBool) -> Steps {
        let (mut effects, mut taken) = (0, 0);
        let mut signal = None;
        loop {
            let before = self.memory.clone();
            let status = self.advance(signal.take(), answered);
            let call = self.call;
            match status {
                WaitStatus::Stopped(_, Signal::SIGTRAP) => {}
                WaitStatus::Stopped(_, other) => signal = Some(other),
                WaitStatus::PtraceEvent(..) => {
                    ptrace::detach(self.pid, None).expect("it is stopped");
                    return Steps::Finished;
                }
                _ => return Steps::Finished,
            }
            self.look();
            let changed = before.iter().zip(&self.memory).position(|(a, b)| a != b);
            let Some(effect) = named(changed, call) else {
                continue;
            };
            effects += 1;
            taken += usize::from(before[TAKEN] != self.memory[TAKEN]);
            if taken > 1 {
                ptrace::detach(self.pid, None).expect("it is stopped");
                return Steps::Finished;
            }
            if effects == last {
                self.kill(victim);
                return Steps::Killed(effect);
            }
        }
    }

    /// Kills the victim and waits for its end. If the victim is another process, this process goes
    /// on at full speed, unless it ends with the victim.
    fn kill(&self, victim: Pid) {
        processes::signal(victim, rustix::process::Signal::Kill);
        if victim == self.pid.as_raw() {
            while !matches!(
                waitpid(self.pid, Some(WaitPidFlag::__WALL)),
                Ok(WaitStatus::Signaled(..)) | Err(_)
            ) {}
            return;
        }
        let has_ended = || processes::process(victim).is_none_or(|it| it.state == 'Z');
        assert!(eventually(PATIENCE, has_ended), "{victim} lives");
        // The kernel may have killed this process already.
        let _ = ptrace::detach(self.pid, None);
        let _ = waitpid(self.pid, Some(WaitPidFlag::__WALL | WaitPidFlag::WNOHANG));
    }

    /// Executes one instruction, or at full speed the instructions up to the end of a system call,
    /// which `call` then names.
    fn advance(&mut self, signal: Option<Signal>, answered: &AtomicBool) -> WaitStatus {
        let Some((next, later)) = self.fast_until.split_first() else {
            let stretch = FAST.iter().find(|(start, _)| self.call == Some(*start));
            self.fast_until = stretch.map_or(&[], |(_, calls)| calls);
            ptrace::step(self.pid, signal).expect("it is stopped");
            return self.stopped(self.call.is_some(), answered);
        };
        ptrace::syscall(self.pid, signal).expect("it is stopped");
        let entry = self.stopped(true, answered);
        if entry != WaitStatus::Stopped(self.pid, Signal::SIGTRAP) {
            self.call = None;
            return entry;
        }
        let at = ptrace::getregs(self.pid).expect("it is stopped");
        self.call = Some(at.orig_rax as libc::c_long);
        if self.call == Some(*next) {
            self.fast_until = later;
        }
        ptrace::syscall(self.pid, None).expect("it is stopped");
        self.stopped(true, answered)
    }

    /// Waits for the end of a step. If the process waits although all requests are answered, the
    /// tracer interrupts it.
    fn stopped(&self, is_call: bool, answered: &AtomicBool) -> WaitStatus {
        if !is_call {
            return waitpid(self.pid, Some(WaitPidFlag::__WALL)).expect("our tracee");
        }
        let mut since = Instant::now();
        loop {
            let flags = WaitPidFlag::__WALL | WaitPidFlag::WNOHANG;
            match waitpid(self.pid, Some(flags)).expect("our tracee") {
                WaitStatus::StillAlive => {}
                status => return status,
            }
            if answered.load(Ordering::Relaxed) && since.elapsed() > WAITS {
                let _ = ptrace::interrupt(self.pid);
                since = Instant::now();
            }
            if since.elapsed() > Duration::from_micros(200) {
                sleep(Duration::from_micros(50));
            }
        }
    }
}

/// Names an effect by the changed byte or the system call. `None`: nothing has happened.
fn named(changed: Option<usize>, call: Option<libc::c_long>) -> Option<String> {
    let call = call.and_then(|number| {
        Some(match number {
            libc::SYS_write => "write",
            libc::SYS_sendto => "sendto",
            libc::SYS_sendmsg => "sendmsg",
            libc::SYS_recvmsg => "recvmsg",
            libc::SYS_recvfrom => "recvfrom",
            _ => return None,
        })
    });
    let place = changed.map(|at| match at / SEEN {
        0 => format!("byte {at} of the mailbox"),
        _ => format!("byte {} of its own shared page", at % SEEN),
    });
    place.or_else(|| call.map(str::to_owned))
}

/// The mailbox first, then the pages that the process shares with its template.
fn shared_mappings(pid: Pid) -> Vec<usize> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("a process");
    let mut found = Vec::new();
    for line in maps.lines() {
        let (from, to) = line
            .split_once(' ')
            .expect("a range")
            .0
            .split_once('-')
            .expect("a range");
        let number = |text| usize::from_str_radix(text, 16).expect("an address");
        let (from, to) = (number(from), number(to));
        let words: Vec<&str> = line.split_whitespace().collect();
        let (mode, offset, name) = (words[1], words[2], words.get(5).copied().unwrap_or(""));
        let is_start = offset == "00000000" && mode == "rw-s";
        if is_start && name.starts_with("/memfd:mehari-mailbox") {
            found.insert(0, from);
        } else if is_start && name == "/dev/zero" && to - from == 4096 {
            found.push(from);
        }
    }
    assert!(found.len() > 1, "no shared memory: {maps}");
    found
}

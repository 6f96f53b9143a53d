//! Stops threads at their system calls: ptrace(2) and waitpid(2). All functions must be called from
//! one thread, because the kernel lets only the thread that has attached go on.
#![allow(unsafe_code)] // ptrace(2), waitpid(2), sigtimedwait(2)

use std::io;
use std::mem::{size_of, MaybeUninit};
use std::time::Duration;

/// A thread's number, as the kernel counts threads.
pub type Tid = libc::pid_t;

/// A thread that stands still, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Before or after a system call.
    Call(Tid),
    /// A new thread or process begins, or the thread was interrupted.
    Begun(Tid),
    /// A stop of the whole process by a signal such as SIGSTOP.
    Suspended(Tid),
    /// Another event of ptrace.
    Event(Tid),
    /// The thread is about to get a signal.
    Signal(Tid, libc::c_int),
    Ended(Tid),
}

/// What a stop at a system call tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallInfo {
    Begins { number: u64, arguments: [u64; 6] },
    Ends { result: i64, is_error: bool },
    Other,
}

/// `struct ptrace_syscall_info` of linux/ptrace.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawInfo {
    op: u8,
    pad: [u8; 3],
    arch: u32,
    instruction_pointer: u64,
    stack_pointer: u64,
    /// At the start of a call: its number and six arguments. At its end: the result, and in the
    /// first byte of the next word whether it is an error.
    rest: [u64; 8],
}

const GET_SYSCALL_INFO: libc::c_uint = 0x420e;
const ENTRY: u8 = 1;
const EXIT: u8 = 2;
/// The event of a stop that is none of a signal: `PTRACE_EVENT_STOP`.
const EVENT_STOP: libc::c_int = 128;

/// Attaches to a thread. The thread runs on.
pub fn seize(tid: Tid) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC;
    order(libc::PTRACE_SEIZE as libc::c_uint, tid, options as usize)
}

/// Stops a thread soon.
pub fn interrupt(tid: Tid) -> io::Result<()> {
    order(libc::PTRACE_INTERRUPT as libc::c_uint, tid, 0)
}

/// Lets a stopped thread go on to its next stop at a system call. `signal`: 0, or the signal that
/// the thread gets.
pub fn go_on(tid: Tid, signal: libc::c_int) -> io::Result<()> {
    order(libc::PTRACE_SYSCALL as libc::c_uint, tid, signal as usize)
}

/// Leaves a process stopped that a signal has stopped.
pub fn listen(tid: Tid) -> io::Result<()> {
    order(libc::PTRACE_LISTEN as libc::c_uint, tid, 0)
}

/// Lets a stopped thread run freely again.
pub fn detach(tid: Tid, signal: libc::c_int) -> io::Result<()> {
    order(libc::PTRACE_DETACH as libc::c_uint, tid, signal as usize)
}

fn order(request: libc::c_uint, tid: Tid, data: usize) -> io::Result<()> {
    let nothing = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: these requests take numbers only. The kernel reads and writes none of our memory.
    match unsafe { libc::ptrace(request as _, tid, nothing, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Tells about the call at which a thread stands.
pub fn call_info(tid: Tid) -> io::Result<CallInfo> {
    let mut raw = MaybeUninit::<RawInfo>::zeroed();
    // SAFETY: the kernel writes at most the given number of bytes to `raw`.
    let told = unsafe {
        let size = size_of::<RawInfo>();
        libc::ptrace(GET_SYSCALL_INFO as _, tid, size, raw.as_mut_ptr())
    };
    if told == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all bytes were zero or have been written, and every bit pattern is a value.
    let raw = unsafe { raw.assume_init() };
    let [number, a, b, c, d, e, f, _] = raw.rest;
    Ok(match raw.op {
        ENTRY => CallInfo::Begins {
            number,
            arguments: [a, b, c, d, e, f],
        },
        EXIT => CallInfo::Ends {
            result: number as i64,
            is_error: a.to_ne_bytes()[0] != 0,
        },
        _ => CallInfo::Other,
    })
}

/// Returns the next stop of any attached thread. `None`: there is none now.
pub fn next() -> io::Result<Option<Stop>> {
    let mut status = 0;
    // SAFETY: the kernel writes the status to our variable.
    let tid = unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::WNOHANG) };
    match tid {
        0 => Ok(None),
        -1 => Err(io::Error::last_os_error()),
        tid => Ok(Some(stop(tid, status))),
    }
}

fn stop(tid: Tid, status: libc::c_int) -> Stop {
    if !libc::WIFSTOPPED(status) {
        return Stop::Ended(tid);
    }
    let signal = libc::WSTOPSIG(status);
    let is_suspending = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
    match status >> 16 {
        0 if signal == libc::SIGTRAP | 0x80 => Stop::Call(tid),
        0 => Stop::Signal(tid, signal),
        EVENT_STOP if is_suspending.contains(&signal) => Stop::Suspended(tid),
        EVENT_STOP => Stop::Begun(tid),
        _ => Stop::Event(tid),
    }
}

/// Keeps the signals that announce stops, so that [`wait`] gets them. Threads that are started
/// later keep them too.
pub fn keep_announcements() -> io::Result<()> {
    let set = announcements();
    // SAFETY: the set is initialised, and the kernel only reads it.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Waits until a thread stops, for at most this time.
pub fn wait(time: Duration) {
    let set = announcements();
    let time = libc::timespec {
        tv_sec: time.as_secs() as libc::time_t,
        tv_nsec: time.subsec_nanos() as _,
    };
    // SAFETY: the set and the time are initialised, and the kernel only reads them. An early end of
    // the wait does no harm.
    unsafe { libc::sigtimedwait(&set, std::ptr::null_mut(), &time) };
}

fn announcements() -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: sigemptyset(3) initialises the set, and sigaddset(3) changes it.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        set.assume_init()
    }
}

//! Stops a process whenever it touches a page for the first time, as a debugger does.
//!
//! The kernel sends SIGTRAP at each page fault (perf's page fault event, perf_event_open(2)), and
//! ptrace(2) stops the process before the signal reaches it. The process then stands at the
//! instruction that wrote. The process never sees the signal.
#![allow(unsafe_code)] // perf_event_open(2), ptrace(2), waitpid(2)

use crate::error::MemoryError;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// A process that is stopped at its page faults. All calls must come from one thread.
pub struct FaultWatch {
    pid: libc::pid_t,
    /// `None`: the watch is over.
    event: Option<OwnedFd>,
    /// The signal with which the stopped process goes on. `None`: the process runs.
    stopped: Option<libc::c_int>,
    has_ended: bool,
}

/// What the next wait has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchEvent {
    /// The process stands at a page fault of this address.
    Fault(u64),
    /// The time is over.
    Nothing,
    Ended,
}

/// The code of a SIGTRAP that perf has sent (siginfo.h).
const TRAP_PERF: libc::c_int = 6;
/// The pause between two questions for the process's state.
const PAUSE: Duration = Duration::from_micros(200);

impl FaultWatch {
    /// Begins to stop the process at its page faults.
    ///
    /// # Errors
    /// The process has gone, is another user's or is debugged, or the kernel does not tell faults.
    pub fn of(pid: u32) -> Result<FaultWatch, MemoryError> {
        let id = pid as libc::pid_t;
        trace(libc::PTRACE_SEIZE, id, 0).map_err(|error| match error.raw_os_error() {
            Some(libc::ESRCH) => MemoryError::Gone(pid),
            _ => MemoryError::Forbidden(pid),
        })?;
        let mut watch = FaultWatch {
            pid: id,
            event: None,
            stopped: None,
            has_ended: false,
        };
        watch.event = Some(fault_event(id).map_err(MemoryError::NoFaults)?);
        Ok(watch)
    }

    /// Lets the process go on, and waits for its next page fault.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn next(&mut self, within: Duration) -> io::Result<WatchEvent> {
        let end = Instant::now() + within;
        self.go_on()?;
        while !self.has_ended {
            match self.stop()? {
                Some(address) => return Ok(WatchEvent::Fault(address)),
                None if self.stopped.is_some() => self.go_on()?,
                None if Instant::now() >= end => return Ok(WatchEvent::Nothing),
                None => std::thread::sleep(PAUSE),
            }
        }
        Ok(WatchEvent::Ended)
    }

    fn go_on(&mut self) -> io::Result<()> {
        let Some(signal) = self.stopped.take() else {
            return Ok(());
        };
        match trace(libc::PTRACE_CONT, self.pid, signal) {
            // Another process has killed it: the next question tells its end.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            went_on => went_on,
        }
    }

    /// Asks whether the process has stopped. Returns the address if it has stopped at a page fault.
    fn stop(&mut self) -> io::Result<Option<u64>> {
        let mut status = 0;
        let flags = libc::WNOHANG | libc::__WALL;
        // SAFETY: the kernel writes to `status`, which lives through the call.
        let told = unsafe { libc::waitpid(self.pid, &raw mut status, flags) };
        if told == 0 {
            return Ok(None);
        }
        if told < 0 || !libc::WIFSTOPPED(status) {
            self.has_ended = true;
            return Ok(None);
        }
        let signal = libc::WSTOPSIG(status);
        if status >> 16 != 0 {
            self.stopped = Some(0); // a stop of ptrace itself
            return Ok(None);
        }
        let fault = (signal == libc::SIGTRAP).then(|| self.fault()).flatten();
        self.stopped = Some(if fault.is_some() { 0 } else { signal });
        Ok(fault)
    }

    /// Returns the address of the page fault for which the process stands still.
    fn fault(&self) -> Option<u64> {
        // SAFETY: all bytes zero are a valid siginfo_t.
        let mut about: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let into = (&raw mut about).cast::<libc::c_void>();
        let nothing = std::ptr::null_mut::<libc::c_void>();
        // SAFETY: the kernel fills `about`, which lives through the call.
        let told = unsafe { libc::ptrace(libc::PTRACE_GETSIGINFO, self.pid, nothing, into) };
        if told != 0 || about.si_code != TRAP_PERF {
            return None;
        }
        // SAFETY: a SIGTRAP of perf has the address.
        Some(unsafe { about.si_addr() } as u64)
    }

    /// Ends the watch. A process can only be left while it stands still.
    fn leave(&mut self) -> io::Result<()> {
        self.event = None;
        if self.stopped.is_none() {
            trace(libc::PTRACE_INTERRUPT, self.pid, 0)?;
        }
        while self.stopped.is_none() && !self.has_ended {
            self.stop()?;
            std::thread::sleep(PAUSE);
        }
        match self.stopped.take() {
            Some(signal) => trace(libc::PTRACE_DETACH, self.pid, signal),
            None => Ok(()),
        }
    }
}

impl Drop for FaultWatch {
    fn drop(&mut self) {
        if !self.has_ended {
            let _ = self.leave(); // the process has gone
        }
    }
}

fn trace(request: libc::c_uint, pid: libc::pid_t, signal: libc::c_int) -> io::Result<()> {
    let nothing = std::ptr::null_mut::<libc::c_void>();
    let data = libc::c_long::from(signal);
    // SAFETY: none of these requests reads or writes memory of this process.
    match unsafe { libc::ptrace(request, pid, nothing, data) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// `struct perf_event_attr` up to `sig_data`.
#[repr(C)]
#[derive(Default)]
struct PerfAttributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    rest: [u64; 10],
}

const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_COUNT_SW_PAGE_FAULTS: u64 = 2;
const PERF_SAMPLE_ADDR: u64 = 1 << 3;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const REMOVE_ON_EXEC: u64 = 1 << 36;
const SIGTRAP: u64 = 1 << 37;

/// Opens the event. Faults inside of system calls are told to privileged users only.
fn fault_event(pid: libc::pid_t) -> io::Result<OwnedFd> {
    open_event(pid, 0).or_else(|_| open_event(pid, EXCLUDE_KERNEL))
}

fn open_event(pid: libc::pid_t, flags: u64) -> io::Result<OwnedFd> {
    let attributes = PerfAttributes {
        kind: PERF_TYPE_SOFTWARE,
        size: size_of::<PerfAttributes>() as u32,
        config: PERF_COUNT_SW_PAGE_FAULTS,
        sample_period: 1,
        sample_type: PERF_SAMPLE_ADDR,
        flags: flags | REMOVE_ON_EXEC | SIGTRAP,
        ..PerfAttributes::default()
    };
    const ANY_CORE: libc::c_int = -1;
    const NO_GROUP: libc::c_int = -1;
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    let number = libc::SYS_perf_event_open;
    let attributes = &raw const attributes;
    // SAFETY: the kernel reads `size` bytes of the attributes, which live through the call.
    let opened =
        unsafe { libc::syscall(number, attributes, pid, ANY_CORE, NO_GROUP, CLOSE_ON_EXEC) };
    match RawFd::try_from(opened) {
        // SAFETY: the descriptor is new, and nobody else has it.
        Ok(opened) if opened >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(opened) }),
        _ => Err(io::Error::last_os_error()),
    }
}

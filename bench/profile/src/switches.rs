//! Watches when a process gets a core and when it loses the core, without a system call for each
//! look: the kernel writes a record of each change into memory that the sampler maps.
//!
//! A process that waits for a core is more often at some places of its code than at others, such as
//! after a system call. A look at such a process must therefore not count as processor time, and
//! only the scheduler's own records tell both cases apart (`PERF_RECORD_SWITCH`, Linux 4.3). The
//! kernel's times of a process advance only at its ticks, and perf's task clock interrupts the core
//! of the process for each read.
#![allow(unsafe_code)] // perf_event_open(2), mmap(2)

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{fence, AtomicU64, Ordering};

/// What the scheduler has done last with a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The process has a core.
    Running,
    /// The process could run, but another has got its core.
    Preempted(Switch),
    /// The process waits for something.
    Waiting,
}

/// When and on which core a process has got the core or lost it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch {
    /// Nanoseconds of the core's clock.
    at: u64,
    core: u32,
}

impl Switch {
    /// Whether a process has lost its core because the owner of `other` has got it.
    pub fn was_for(self, other: Switch) -> bool {
        /// The longest time of one switch, between its two records.
        const ONE_SWITCH: u64 = 20_000;
        self.core == other.core && self.at.abs_diff(other.at) <= ONE_SWITCH
    }
}

/// The state of a process. The mark changes with each switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnState {
    pub turn: Turn,
    pub last: Switch,
    pub mark: u64,
}

/// The records of one thread.
pub struct Switches {
    /// The page of `struct perf_event_mmap_page`, then one page of records.
    pages: *mut u8,
    _event: OwnedFd,
}

/// The beginning of `struct perf_event_attr`, in its first and shortest version.
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
    wakeup: u32,
    breakpoint: u32,
    more: u64,
}

const PERF_TYPE_SOFTWARE: u32 = 1;
/// Counts nothing.
const PERF_COUNT_SW_DUMMY: u64 = 9;
const PERF_SAMPLE_TIME: u64 = 1 << 2;
const PERF_SAMPLE_CPU: u64 = 1 << 7;
/// Excludes what the process does in the kernel, which only privileged users may watch.
const USER_ONLY: u64 = 1 << 5 | 1 << 6;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const CONTEXT_SWITCH: u64 = 1 << 26;

const PERF_RECORD_SWITCH: u32 = 14;
const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;

const PAGE: usize = 4096;
const MAPPED: usize = 2 * PAGE;
/// The offset of `data_head` in the first page: the number of bytes written until now.
const HEAD: usize = 1024;

/// A record: the kind and the flags, then the members of the sample type.
#[repr(C)]
#[derive(Clone, Copy)]
struct Record {
    kind: u32,
    flags: u16,
    size: u16,
    at: u64,
    core: u32,
    reserved: u32,
}

const RECORD: usize = size_of::<Record>();

impl Switches {
    /// Watches a process, or this thread if `pid` is 0. `None`: the kernel forbids it
    /// (perf_event_paranoid, perf_event_mlock_kb, seccomp), or its pages have another size.
    pub fn of(pid: u32) -> Option<Switches> {
        if rustix::param::page_size() != PAGE {
            return None;
        }
        let event = open(pid)?;
        // SAFETY: the kernel chooses the address of a new mapping.
        let pages = unsafe {
            let (read, shared) = (libc::PROT_READ, libc::MAP_SHARED);
            libc::mmap(ptr::null_mut(), MAPPED, read, shared, event.as_raw_fd(), 0)
        };
        (pages != libc::MAP_FAILED).then(|| Switches {
            pages: pages.cast(),
            _event: event,
        })
    }

    /// Returns what happened last. `None`: nothing has happened since the watch began.
    pub fn now(&self) -> Option<TurnState> {
        loop {
            let mark = self.mark();
            let last = usize::try_from(mark).ok()?.checked_sub(RECORD)?;
            let record = self.record(last);
            fence(Ordering::Acquire);
            if self.mark() == mark {
                return state(&record, mark);
            }
        }
    }

    /// Returns a number that changes with each switch.
    pub fn mark(&self) -> u64 {
        // SAFETY: the first page is mapped while `self` lives, the offset is a multiple of 8, and
        // the kernel writes the number at once.
        let head = unsafe { AtomicU64::from_ptr(self.pages.add(HEAD).cast()) };
        head.load(Ordering::Acquire)
    }

    /// Copies the record that begins after so many bytes. The records wrap around in their page.
    fn record(&self, begin: usize) -> Record {
        let word = |index: usize| {
            let at = PAGE + (begin + 8 * index) % PAGE;
            // SAFETY: the second page is mapped while `self` lives. `at` lies in this page and is a
            // multiple of 8, because all records are multiples of 8 bytes. The kernel may write
            // while the word is read, so the caller compares the marks.
            unsafe { AtomicU64::from_ptr(self.pages.add(at).cast()) }.load(Ordering::Relaxed)
        };
        let words = [word(0), word(1), word(2)].map(u64::to_ne_bytes);
        let [[a, b, c, d, e, f, g, h], at, [i, j, k, l, m, n, o, p]] = words;
        Record {
            kind: u32::from_ne_bytes([a, b, c, d]),
            flags: u16::from_ne_bytes([e, f]),
            size: u16::from_ne_bytes([g, h]),
            at: u64::from_ne_bytes(at),
            core: u32::from_ne_bytes([i, j, k, l]),
            reserved: u32::from_ne_bytes([m, n, o, p]),
        }
    }
}

fn state(record: &Record, mark: u64) -> Option<TurnState> {
    if record.kind != PERF_RECORD_SWITCH || usize::from(record.size) != RECORD {
        return None;
    }
    let last = Switch {
        at: record.at,
        core: record.core,
    };
    let turn = match record.flags {
        flags if flags & SWITCH_OUT == 0 => Turn::Running,
        flags if flags & SWITCH_OUT_PREEMPT != 0 => Turn::Preempted(last),
        _ => Turn::Waiting,
    };
    Some(TurnState { turn, last, mark })
}

impl Drop for Switches {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nobody reads it any more.
        unsafe { libc::munmap(self.pages.cast(), MAPPED) };
    }
}

/// Opens an event that only has the switches of a process recorded.
fn open(pid: u32) -> Option<OwnedFd> {
    let attributes = PerfAttributes {
        kind: PERF_TYPE_SOFTWARE,
        size: size_of::<PerfAttributes>() as u32,
        config: PERF_COUNT_SW_DUMMY,
        sample_type: PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
        flags: USER_ONLY | SAMPLE_ID_ALL | CONTEXT_SWITCH,
        ..PerfAttributes::default()
    };
    const ANY_CORE: libc::c_int = -1;
    const NO_GROUP: libc::c_int = -1;
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    let (attributes, pid) = (&raw const attributes, pid as libc::pid_t);
    // SAFETY: the kernel reads `size` bytes of the attributes, which live through the call.
    let opened = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            attributes,
            pid,
            ANY_CORE,
            NO_GROUP,
            CLOSE_ON_EXEC,
        )
    };
    let opened = RawFd::try_from(opened).ok().filter(|&opened| opened >= 0)?;
    // SAFETY: the descriptor is new, and nobody else has it.
    Some(unsafe { OwnedFd::from_raw_fd(opened) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    /// Returns the first state that fits, or the last one after ten seconds.
    fn wait_for(switches: &Switches, fits: impl Fn(&Turn) -> bool) -> Option<Turn> {
        let begun = Instant::now();
        loop {
            let turn = switches.now().map(|it| it.turn);
            if turn.as_ref().is_some_and(&fits) || begun.elapsed() > Duration::from_secs(10) {
                return turn;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn process_that_waits_and_then_computes_changes_its_state() {
        let mut command = Command::new("sh");
        command.args(["-c", "read line; while :; do :; done"]);
        let mut child = command.stdin(Stdio::piped()).spawn().expect("a shell");
        let Some(switches) = Switches::of(child.id()) else {
            child.kill().expect("it lives");
            child.wait().expect("its end");
            return eprintln!("SKIPPED: the kernel forbids perf_event_open");
        };
        // The shell may have begun to wait before the watch began.
        let input = child.stdin.take().expect("it was piped");
        drop(input);
        let computes = |turn: &Turn| *turn != Turn::Waiting;
        assert!(wait_for(&switches, computes).is_some_and(|turn| computes(&turn)));
        let before = switches.mark();
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::Stop).expect("it lives");
        let stopped = wait_for(&switches, |turn| *turn == Turn::Waiting);
        assert_eq!(stopped, Some(Turn::Waiting));
        assert!(switches.mark() > before);
        assert_eq!(switches.mark(), switches.mark());
        child.kill().expect("it lives");
        child.wait().expect("its end");
    }

    #[test]
    fn this_thread_runs_whenever_it_asks() {
        let Some(own) = Switches::of(0) else {
            return eprintln!("SKIPPED: the kernel forbids perf_event_open");
        };
        // More records than the page has room for.
        for _ in 0..500 {
            std::thread::sleep(Duration::from_micros(1));
            let state = own.now().expect("it has slept");
            assert_eq!(state.turn, Turn::Running);
            assert!(state.last.was_for(state.last));
        }
    }

    #[test]
    fn process_that_does_not_exist_cannot_be_watched() {
        assert!(Switches::of(u32::MAX >> 4).is_none());
    }
}

//! Measures the processor time of another process, and whether the process is on a core now.
//!
//! A process that waits for a core is more often at some places of its code than at others, such as
//! after a system call. Such a look must therefore not count as processor time. Only perf's task
//! clock shows whether a process is on a core. The kernel's other clocks advance only at its ticks.
#![allow(unsafe_code)] // perf_event_open(2)

use rustix::process::{sched_getaffinity, sched_getcpu, sched_setaffinity, CpuSet};
use std::fs::File;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::time::Instant;

/// Moves the sampler away from a core. On the core of a sampled process, the sampler would displace
/// the process and could not see whether it runs.
pub struct Aside {
    /// The cores on which this thread may run.
    allowed: Vec<usize>,
    avoided: Option<usize>,
}

impl Aside {
    pub fn new() -> Aside {
        let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
        Aside {
            allowed: (0..CpuSet::MAX_CPU)
                .filter(|&core| set.is_set(core))
                .collect(),
            avoided: None,
        }
    }

    /// Returns whether the sampler has no other core. A process then never runs during a look.
    pub fn is_impossible(&self) -> bool {
        self.allowed.len() < 2
    }

    /// Returns the core on which the sampler runs. `None`: it cannot go aside.
    pub fn own_core(&self) -> Option<usize> {
        (!self.is_impossible()).then(sched_getcpu)
    }

    pub fn avoid(&mut self, core: Option<usize>) {
        if core == self.avoided || self.is_impossible() {
            return;
        }
        let mut set = CpuSet::new();
        for &one in self.allowed.iter().filter(|&&one| Some(one) != core) {
            set.set(one);
        }
        if sched_setaffinity(None, &set).is_ok() {
            self.avoided = core;
        }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        self.avoid(None);
    }
}

/// The times of a process since its sampling began.
pub struct ProcessorClock {
    counter: Option<OwnedFd>,
    times: Option<File>,
    stat: Option<File>,
    since: Instant,
    until: Instant,
    first: ProcessorTimes,
    last: ProcessorTimes,
}

/// The times of a process in nanoseconds. While the process waits, they stay the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessorTimes {
    cpu: u64,
    /// The time of waiting for a core.
    queue: u64,
    /// How often the process has got a core.
    turns: u64,
}

impl ProcessorClock {
    pub fn of(pid: u32) -> ProcessorClock {
        let mut clock = ProcessorClock {
            counter: task_clock(pid),
            times: File::open(format!("/proc/{pid}/schedstat")).ok(),
            stat: File::open(format!("/proc/{pid}/task/{pid}/stat")).ok(),
            since: Instant::now(),
            until: Instant::now(),
            first: ProcessorTimes::default(),
            last: ProcessorTimes::default(),
        };
        clock.read();
        clock.first = clock.last;
        clock
    }

    /// Begins to count again. The times until now are left out from then on.
    pub fn restart(&mut self) {
        (self.first, self.since) = (self.last, self.until);
    }

    /// Reads the current times. After the end of the process, the last times stay.
    pub fn read(&mut self) -> Option<ProcessorTimes> {
        let times = self.times()?;
        self.until = Instant::now();
        self.last = times;
        Some(times)
    }

    fn times(&self) -> Option<ProcessorTimes> {
        let mut line = [0; 80];
        let length = self.times.as_ref()?.read_at(&mut line, 0).ok()?;
        let text = std::str::from_utf8(&line[..length]).ok()?;
        let mut numbers = text
            .split_ascii_whitespace()
            .map_while(|word| word.parse().ok());
        Some(ProcessorTimes {
            cpu: numbers.next()?,
            queue: numbers.next()?,
            turns: numbers.next()?,
        })
    }

    /// Returns perf's task clock. If two calls return different values, the process was on a core
    /// between them. `None`: the kernel forbids the clock (perf_event_paranoid, seccomp).
    pub fn count(&self) -> Option<u64> {
        let mut count = [0; 8];
        let length = rustix::io::read(self.counter.as_ref()?, &mut count).ok()?;
        (length == count.len()).then(|| u64::from_ne_bytes(count))
    }

    /// Returns the core on which the process runs or ran last: field 39 of proc_pid_stat(5).
    pub fn core(&self) -> Option<usize> {
        let mut line = [0; 1024];
        let length = self.stat.as_ref()?.read_at(&mut line, 0).ok()?;
        let text = String::from_utf8_lossy(&line[..length]);
        let after_name = text.rsplit_once(") ")?.1;
        after_name.split(' ').nth(36)?.parse().ok()
    }

    /// Returns the seconds that the process was on a core.
    pub fn cpu_seconds(&self) -> f64 {
        self.last.cpu.saturating_sub(self.first.cpu) as f64 / 1e9
    }

    /// Returns the seconds for which the process was sampled.
    pub fn present_seconds(&self) -> f64 {
        (self.until - self.since).as_secs_f64()
    }

    /// Returns the seconds for which the process waited for a core.
    pub fn queue_seconds(&self) -> f64 {
        self.last.queue.saturating_sub(self.first.queue) as f64 / 1e9
    }
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
const PERF_COUNT_SW_TASK_CLOCK: u64 = 1;
/// Excludes the time in the kernel, which only privileged users may measure.
const USER_ONLY: u64 = 1 << 5 | 1 << 6;

/// Opens perf's task clock of a process.
fn task_clock(pid: u32) -> Option<OwnedFd> {
    let attributes = PerfAttributes {
        kind: PERF_TYPE_SOFTWARE,
        size: size_of::<PerfAttributes>() as u32,
        config: PERF_COUNT_SW_TASK_CLOCK,
        flags: USER_ONLY,
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

    #[test]
    fn own_process_has_a_core_and_is_present() {
        let mut clock = ProcessorClock::of(std::process::id());
        clock.read();
        assert!(clock.present_seconds() > 0.0);
        assert!(clock.core().is_some());
    }

    #[test]
    fn process_that_does_not_exist_has_no_time() {
        let mut clock = ProcessorClock::of(u32::MAX >> 4);
        clock.read();
        assert_eq!((clock.count(), clock.core()), (None, None));
    }
}

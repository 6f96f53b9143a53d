//! Reads the cost of a thread from the kernel: processor time, time waiting for a core,
//! preemptions.
#![allow(unsafe_code)]

use std::time::Duration;

#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    pub user: Duration,
    pub system: Duration,
    pub run_queue_delay: Duration,
    pub preemptions: u64,
}

impl Usage {
    /// Returns the usage of the calling thread since its start.
    pub fn of_this_thread() -> Usage {
        // SAFETY: rusage is plain data, and getrusage only writes to it.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
            usage
        };
        let time = |value: libc::timeval| {
            Duration::from_secs(value.tv_sec as u64) + Duration::from_micros(value.tv_usec as u64)
        };
        Usage {
            user: time(usage.ru_utime),
            system: time(usage.ru_stime),
            run_queue_delay: run_queue_delay(),
            preemptions: usage.ru_nivcsw as u64,
        }
    }
}

/// Returns how long the thread has waited for a core (second field of schedstat); zero if the
/// kernel does not count this.
fn run_queue_delay() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let field = text
        .split_whitespace()
        .nth(1)
        .and_then(|field| field.parse().ok());
    Duration::from_nanos(field.unwrap_or(0))
}

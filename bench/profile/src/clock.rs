//! Measures the processor time of another process by the kernel's count, which advances at the
//! kernel's ticks. Whether the process is on a core now: `switches`.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// How long the times of a process are not read again, at most.
const OLDEST: Duration = Duration::from_millis(10);

/// The times of a process since its sampling began.
pub struct ProcessorClock {
    times: Option<File>,
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
    pub turns: u64,
}

impl ProcessorClock {
    pub fn of(pid: u32) -> ProcessorClock {
        let mut clock = ProcessorClock {
            times: File::open(format!("/proc/{pid}/schedstat")).ok(),
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

    /// Reads the current times, unless they were read a moment ago. A process that ends has its
    /// last times from before its end, so a young process is asked more often.
    pub fn read_if_due(&mut self) {
        let age = self.until - self.since;
        if self.until.elapsed() >= OLDEST.min(age / 8) {
            self.read();
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_process_is_present_and_has_had_a_turn() {
        let mut clock = ProcessorClock::of(std::process::id());
        std::thread::sleep(Duration::from_millis(1));
        clock.read_if_due();
        assert!(clock.present_seconds() > 0.0);
        assert!(clock.read().is_some_and(|times| times.turns > 0));
    }

    #[test]
    fn process_that_does_not_exist_has_no_time() {
        let mut clock = ProcessorClock::of(u32::MAX >> 4);
        assert_eq!(clock.read(), None);
        assert_eq!(clock.cpu_seconds(), 0.0);
    }
}

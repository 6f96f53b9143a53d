//! Decides how often the hook of the interpreter runs. Most instructions take nanoseconds. A
//! comparison of two long texts may take a thousand times as long, and so may a search for the next
//! member of a large emptied table. The hook therefore runs more often while instructions take
//! long.

#![allow(unsafe_code)] // clock_gettime(2) for the thread's processor time

use std::time::{Duration, Instant};

/// The longest time of a slice.
const SLICE: Duration = Duration::from_millis(1);
/// The largest number of instructions between two calls of the hook.
const MOST: i64 = 1000;
/// The processor time of one charged instruction. An instruction that takes longer is charged as
/// several.
const INSTRUCTION: Duration = Duration::from_nanos(100);

/// The state that one slice hands to the next slice.
#[derive(Debug, Clone, Copy)]
pub struct Tempo {
    step: i64,
    /// Whether the last instructions took long.
    is_slow: bool,
}

impl Tempo {
    /// Makes the state for the first slice. `step` is the number of instructions until the first
    /// call of the hook.
    pub fn new(step: i64) -> Tempo {
        Tempo {
            step,
            is_slow: false,
        }
    }
}

/// Measures the time of one slice.
#[derive(Debug)]
pub struct Pace {
    tempo: Tempo,
    /// The times of the hook's first and last calls.
    first: Option<Instant>,
    last: Option<Instant>,
    /// The processor time at the hook's last call. It is kept only while instructions take long.
    worked: Option<Duration>,
}

impl Pace {
    /// Begins the measurement of a slice.
    pub fn new(tempo: Tempo) -> Pace {
        Pace {
            tempo,
            first: None,
            last: None,
            worked: None,
        }
    }

    pub fn tempo(&self) -> Tempo {
        self.tempo
    }

    /// Returns the number of instructions until the hook's next call.
    pub fn step(&self) -> i64 {
        self.tempo.step
    }

    /// Notes a call of the hook, `count` instructions after the call before. Returns the number of
    /// instructions to charge.
    pub fn charge(&mut self, count: i64) -> i64 {
        let now = Instant::now();
        let took = self.last.replace(now).map(|last| now - last);
        self.first.get_or_insert(now);
        let tempo = &mut self.tempo;
        match took {
            None => {}
            Some(took) if took < SLICE / 4 => {
                tempo.step = (tempo.step * 4).min(MOST);
                // A few slow instructions take little time together, so the average time decides.
                let each = took.as_nanos() / u128::from(count.unsigned_abs().max(1));
                tempo.is_slow = tempo.is_slow && each > 10 * INSTRUCTION.as_nanos();
            }
            Some(_) => {
                tempo.step = (tempo.step / 4).max(1);
                tempo.is_slow = true;
            }
        }
        // The thread may have been waiting for the processor. Only the processor time counts.
        let worked = tempo.is_slow.then(thread_cpu_time);
        let before = std::mem::replace(&mut self.worked, worked);
        let (Some(before), Some(worked)) = (before, worked) else {
            return count;
        };
        count.max(instructions(worked.saturating_sub(before)))
    }

    /// Returns whether the slice has used up its time.
    pub fn is_over(&self) -> bool {
        match (self.first, self.last) {
            (Some(first), Some(last)) => last - first >= SLICE,
            _ => false,
        }
    }
}

/// Runs `what` and returns the number of instructions that its processor time is worth.
pub fn cost<R>(what: impl FnOnce() -> R) -> i64 {
    let before = thread_cpu_time();
    what();
    instructions(thread_cpu_time().saturating_sub(before))
}

fn instructions(time: Duration) -> i64 {
    i64::try_from(time.as_nanos() / INSTRUCTION.as_nanos()).unwrap_or(i64::MAX)
}

/// Returns the processor time of this thread so far.
fn thread_cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes into a valid `timespec`, and every thread has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hook_runs_seldom_for_quick_instructions_and_often_for_slow_instructions() {
        let mut pace = Pace::new(Tempo::new(100));
        assert_eq!(pace.charge(100), 100);
        pace.last = Some(Instant::now() - SLICE * 2);
        assert_eq!(pace.charge(100), 100, "nobody knows whose time that was");
        assert_eq!(pace.step(), 25);
        assert!(pace.worked.is_some());
        pace.last = Some(Instant::now() - SLICE * 2);
        while thread_cpu_time() < pace.worked.unwrap_or_default() + SLICE {}
        assert!(pace.charge(25) > 5_000, "they count as more");
        for _ in 0..10 {
            pace.last = Some(Instant::now() - SLICE * 2);
            pace.charge(1);
        }
        assert_eq!(pace.step(), 1);
        pace = Pace::new(pace.tempo());
        assert_eq!(pace.charge(7), 7, "nobody knows how long those took");
        pace.last = Some(Instant::now() + SLICE);
        pace.charge(1);
        assert_eq!(pace.step(), 4);
    }

    #[test]
    fn a_slice_ends_after_its_time() {
        let mut pace = Pace::new(Tempo::new(1));
        pace.charge(1);
        assert!(!pace.is_over());
        pace.first = Some(Instant::now() - SLICE);
        pace.charge(1);
        assert!(pace.is_over());
        pace = Pace::new(pace.tempo());
        assert!(!pace.is_over());
    }
}

//! Measures the distance of the machine's cores: the time in which a cache line passes from one
//! core to another. `measure` writes the distance into the record.
//!
//! The cores of a virtual machine may be on one chip now and on two chips a minute later. A server
//! and its client then work at half the speed. Two measurements can therefore be compared only if
//! the distance was equal.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{sched_getaffinity, sched_setaffinity, CpuSet};

use crate::moment::nanoseconds;

/// The passes of the cache line in one batch. A batch is short enough to fit between two
/// interruptions.
const PASSES: u64 = 2_000;
/// The number of batches. The fastest batch is the result, because interruptions slow the others.
const BATCHES: usize = 8;
/// The most cores whose distance to the first core is measured.
const MOST_CORES: usize = 8;
/// How often a thread reads the line before it reads the clock again.
const PATIENCE: u64 = 4_096;
const MOST_TIME: Duration = Duration::from_millis(500);

/// Returns the time of one pass in nanoseconds between the first allowed core and the farthest
/// other core. Returns `None` with one core, without permission to pin threads, or if the cores
/// were too busy.
pub fn nanoseconds_between_cores() -> Option<u64> {
    let allowed = sched_getaffinity(None).ok()?;
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|core| allowed.is_set(*core))
        .collect();
    let (first, others) = cores.split_first()?;
    let step = others.len().div_ceil(MOST_CORES).max(1);
    others
        .iter()
        .step_by(step)
        .filter_map(|other| between(*first, *other))
        .max()
}

/// A cache line that two threads write in turn. The first thread makes the number odd, the second
/// makes it even.
#[repr(align(128))]
#[derive(Default)]
struct Line {
    passes: AtomicU64,
}

impl Line {
    /// Waits until the other thread has written `value`. Returns false if the wait took too long.
    fn await_value(&self, value: u64, given_up: &AtomicBool, until: Instant) -> bool {
        let mut looks = 0u64;
        while self.passes.load(Ordering::Acquire) != value {
            looks += 1;
            if looks.is_multiple_of(PATIENCE)
                && (given_up.load(Ordering::Relaxed) || Instant::now() > until)
            {
                given_up.store(true, Ordering::Relaxed);
                return false;
            }
            std::hint::spin_loop();
        }
        true
    }
}

/// Measures the time of one pass between two cores. Both sides run on new threads, so the caller
/// keeps its cores.
fn between(one: usize, other: usize) -> Option<u64> {
    let line = Line::default();
    let given_up = AtomicBool::new(false);
    let until = Instant::now() + MOST_TIME;
    thread::scope(|scope| {
        scope.spawn(|| {
            let answers = (1..).step_by(2).take(BATCHES * PASSES as usize / 2);
            if !pin(other) {
                return given_up.store(true, Ordering::Relaxed);
            }
            for value in answers {
                if !line.await_value(value, &given_up, until) {
                    return;
                }
                line.passes.store(value + 1, Ordering::Release);
            }
        });
        let best = scope.spawn(|| {
            if !pin(one) {
                given_up.store(true, Ordering::Relaxed);
                return None;
            }
            let batches = 0..BATCHES as u64;
            batches
                .map_while(|batch| batch_of_passes(&line, batch * PASSES, &given_up, until))
                .min()
        });
        best.join().ok().flatten()
    })
    .map(|batch| nanoseconds(batch) / PASSES)
}

fn batch_of_passes(
    line: &Line,
    first: u64,
    given_up: &AtomicBool,
    until: Instant,
) -> Option<Duration> {
    let began = Instant::now();
    for value in (first..first + PASSES).step_by(2) {
        line.passes.store(value + 1, Ordering::Release);
        if !line.await_value(value + 2, given_up, until) {
            return None;
        }
    }
    Some(began.elapsed())
}

fn pin(core: usize) -> bool {
    let mut only = CpuSet::new();
    only.set(core);
    sched_setaffinity(None, &only).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_takes_time_and_less_than_a_wake_up() {
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
        let Some(pass) = nanoseconds_between_cores() else {
            // Another program may hold a core all this time.
            return;
        };
        assert!(cores > 1, "one core has no other");
        assert!((1..50_000).contains(&pass), "{pass} ns");
    }

    #[test]
    fn cores_that_do_not_exist_give_no_result() {
        let none = CpuSet::MAX_CPU - 1;
        assert_eq!(between(0, none), None);
        assert_eq!(between(none, 0), None);
    }

    #[test]
    fn the_caller_keeps_its_cores() {
        let before = sched_getaffinity(None).expect("the cores of this thread");
        nanoseconds_between_cores();
        let after = sched_getaffinity(None).expect("the cores of this thread");
        assert_eq!(before, after);
    }
}

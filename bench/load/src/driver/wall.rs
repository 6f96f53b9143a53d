//! Converts wall-clock times into moments. The kernel's stamps are wall-clock times.
//!
//! The wall clock and the monotonic clock run at the same speed. Their difference changes only when
//! the wall clock is set, so it is measured again now and then. A measurement counts only if its
//! clock reads are so close together that nothing can have interrupted them.

use std::time::Duration;

use rustix::time::{clock_gettime, ClockId};

use crate::moment::{Clock, Moment};

use super::receive::Stamp;

#[derive(Debug, Default)]
pub struct Wall {
    /// The wall-clock time of the moment zero in nanoseconds; `None` before the first measurement.
    origin: Option<u64>,
    next_look: Moment,
}

/// After this time the difference of the clocks is measured again.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// A measurement reads the wall clock between two reads of the monotonic clock. These limits are
/// the nanoseconds between the two: at most `CLOSE` is accepted at once, more than `TOO_WIDE`
/// never.
const CLOSE: u64 = 500;
const TOO_WIDE: u64 = 20_000;
const TRIES: usize = 4;

impl Wall {
    /// Measures the difference of the clocks again if the last measurement is old. The worker calls
    /// `look` after each wait and before it converts stamps.
    pub fn look(&mut self, clock: &Clock) {
        if clock.now() < self.next_look {
            return;
        }
        let mut best = TOO_WIDE;
        for _ in 0..TRIES {
            let before = clock.now();
            let wall = wall_clock();
            let after = clock.now();
            let width = after.since(before);
            if width <= best {
                best = width;
                self.origin = Some(wall.wrapping_sub(before.0 + width / 2));
                self.next_look = after.after(LOOK_EVERY);
            }
            if width <= CLOSE {
                return;
            }
        }
    }

    /// Returns the moment of a stamp, no later than `now`; `now` without a stamp.
    pub fn moment(&self, stamp: Option<Stamp>, now: Moment) -> Moment {
        match (stamp, self.origin) {
            (Some(Stamp(wall)), Some(origin)) => Moment(wall.saturating_sub(origin)).min(now),
            _ => now,
        }
    }
}

fn wall_clock() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_time_between_two_moments_lies_between_them() {
        let clock = Clock::starting_in(Duration::ZERO);
        let mut wall = Wall::default();
        wall.look(&clock);
        assert!(wall.origin.is_some());
        let before = clock.now();
        let stamp = Stamp(wall_clock());
        let after = clock.now();
        let moment = wall.moment(Some(stamp), after);
        assert!(
            before.since(moment) <= TOO_WIDE / 2,
            "{before:?} {moment:?}"
        );
        assert!(moment <= after);
    }

    #[test]
    fn a_missing_stamp_and_a_stamp_of_the_future_count_as_now() {
        let clock = Clock::starting_in(Duration::ZERO);
        let mut wall = Wall::default();
        let now = Moment(1_000);
        assert_eq!(wall.moment(Some(Stamp(5)), now), now);
        wall.look(&clock);
        assert_eq!(wall.moment(None, now), now);
        assert_eq!(wall.moment(Some(Stamp(u64::MAX)), now), now);
        assert_eq!(wall.moment(Some(Stamp(0)), now), Moment::ZERO);
    }
}

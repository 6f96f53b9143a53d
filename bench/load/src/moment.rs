//! Defines the engine's time: whole nanoseconds of the monotonic clock since the run's origin. All
//! threads of a run share one origin, so the moments of different threads can be compared.

use std::time::Duration;

use rustix::time::{clock_gettime, ClockId};

/// Nanoseconds since the run's origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

impl Moment {
    pub const ZERO: Moment = Moment(0);
    pub const NEVER: Moment = Moment(u64::MAX);

    /// Returns the nanoseconds from `earlier` to `self`; 0 if `earlier` is later.
    pub fn since(self, earlier: Moment) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the moment that lies `duration` after `self`, at most `NEVER`.
    pub fn after(self, duration: Duration) -> Moment {
        Moment(self.0.saturating_add(nanoseconds(duration)))
    }

    pub fn duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// Returns a duration in whole nanoseconds, at most `u64::MAX` (584 years).
pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A clock that reads moments. Before the origin, `now` returns zero.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: u64,
}

impl Clock {
    /// Returns a clock whose zero lies `lead` ahead of this call.
    pub fn starting_in(lead: Duration) -> Clock {
        Clock {
            origin: monotonic().saturating_add(nanoseconds(lead)),
        }
    }

    pub fn now(&self) -> Moment {
        Moment(monotonic().saturating_sub(self.origin))
    }

    /// Returns the time until the origin; zero after the origin.
    pub fn until_origin(&self) -> Duration {
        Duration::from_nanos(self.origin.saturating_sub(monotonic()))
    }
}

fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

//! Keeps the figures of each minute of the last day, for the console. A reload does not end the
//! history.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

/// The time between two points.
pub const STEP: Duration = Duration::from_secs(60);
/// A day of minutes.
const MOST: usize = 24 * 60;

#[derive(Default)]
pub struct History(RefCell<VecDeque<HistoryPoint>>);

/// The figures at one time. Requests, bytes and errors are totals since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HistoryPoint {
    /// Seconds since 1970.
    pub at: u64,
    pub requests: u64,
    pub bytes: u64,
    pub server_errors: u64,
    pub connections: usize,
    pub busy: usize,
    pub idle: usize,
    pub queue: usize,
    /// The memory of all processes of Perl.
    pub memory: u64,
}

impl History {
    pub fn add(&self, point: HistoryPoint) {
        let mut points = self.0.borrow_mut();
        if points.len() >= MOST {
            points.pop_front();
        }
        points.push_back(point);
    }

    /// Returns the points, the oldest first.
    pub fn all(&self) -> Vec<HistoryPoint> {
        self.0.borrow().iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_day_is_kept() {
        let history = History::default();
        for at in 0..MOST as u64 + 5 {
            history.add(HistoryPoint {
                at,
                ..HistoryPoint::default()
            });
        }
        let all = history.all();
        assert_eq!((all.len(), all[0].at), (MOST, 5));
        assert_eq!(all[MOST - 1].at, MOST as u64 + 4);
    }
}

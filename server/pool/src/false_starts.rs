//! Counts workers that end before they serve a request, or zygotes that end. The same cause will
//! probably end the next ones too, so the next ones start after growing pauses. A served request or
//! a reload resets the count.

use std::time::{Duration, Instant};

/// The number of false starts in a row that may still be chance.
const CHANCE: u32 = 3;
const SHORTEST: Duration = Duration::from_millis(100);
pub const LONGEST: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub struct FalseStarts {
    pub in_a_row: u32,
    until: Option<Instant>,
}

impl FalseStarts {
    /// Counts a false start. Returns the pause before the next start, if there is one.
    pub fn add(&mut self, now: Instant) -> Option<Duration> {
        self.in_a_row = self.in_a_row.saturating_add(1);
        let doubled = self.in_a_row.checked_sub(CHANCE)?.min(16);
        let pause = (SHORTEST * (1 << doubled)).min(LONGEST);
        self.until = Some(now + pause);
        Some(pause)
    }

    pub fn hold_back(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    /// Returns the rest of the pause.
    pub fn left(&self, now: Instant) -> Duration {
        let until = self.until.unwrap_or(now);
        until.saturating_duration_since(now)
    }

    /// Whether only one worker at a time may start, until a worker has served a request.
    pub fn is_cautious(&self) -> bool {
        self.until.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_begin_at_the_third_false_start_and_double_up_to_the_longest() {
        let (mut starts, now) = (FalseStarts::default(), Instant::now());
        let pauses: Vec<_> = (0..5).map(|_| starts.add(now)).collect();
        let paused = |times: u32| Some(SHORTEST * times);
        assert_eq!(pauses, [None, None, paused(1), paused(2), paused(4)]);
        assert!(starts.hold_back(now + SHORTEST * 3) && !starts.hold_back(now + SHORTEST * 4));
        assert_eq!(
            (0..100).filter_map(|_| starts.add(now)).last(),
            Some(LONGEST)
        );
    }
}

//! Workers that end before they have served anything: what ended them will end the next ones too, so that those
//! are started with growing pauses. Any request served, and any reload, begins anew.

use std::time::{Duration, Instant};

/// So many in a row may be chance.
const CHANCE: u32 = 3;
const SHORTEST: Duration = Duration::from_millis(100);
pub const LONGEST: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub struct FalseStarts {
    pub in_a_row: u32,
    until: Option<Instant>,
}

impl FalseStarts {
    /// One more; the pause before the next, if there is to be one.
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

    /// One at a time, until one has served.
    pub fn is_cautious(&self) -> bool {
        self.until.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_begin_after_chance_and_double_to_the_longest() {
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

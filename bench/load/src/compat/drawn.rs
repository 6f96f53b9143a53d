//! Arrivals a uniformly random time apart, which the engine's timetable has no word for: one stage each.

use crate::plan::Stage;
use crate::random::Random;
use std::time::Duration;

/// Drawn beforehand; no more of them than this.
const MOST: u64 = 1_000_000;

/// Stages for `count` arrivals between `least` and `most` seconds apart.
pub fn stages(least: f64, most: f64, count: u64, seed: u64) -> Vec<Stage> {
    let mut random = Random::new(seed);
    (0..=count.min(MOST))
        .map(|_| random.next() as f64 / u64::MAX as f64)
        .map(|share| (least + (most - least) * share).max(1e-9))
        .map(|between| steady(between, between))
        .collect()
}

/// A stage of arrivals `between` seconds apart for `lasts` seconds.
pub fn steady(between: f64, lasts: f64) -> Stage {
    let rate = if between > 0.0 { 1.0 / between } else { 0.0 };
    Stage {
        duration: Duration::try_from_secs_f64(lasts).unwrap_or_default(),
        from: rate,
        to: rate,
    }
}

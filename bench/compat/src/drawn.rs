//! Makes arrivals with uniformly distributed random intervals, for httperf and http_load. The
//! engine has no such schedule, so each interval becomes a stage.

use mehari_load::{Random, Stage};
use std::time::Duration;

/// The most intervals that are drawn before the run. Later arrivals have a constant interval.
const DRAWN: u64 = 1_000_000;
/// A time in seconds that is longer than any run.
const FOR_EVER: f64 = 1e9;

/// Returns stages for `count` arrivals with intervals between `least` and `most` seconds.
pub fn stages(least: f64, most: f64, count: u64, seed: u64) -> Vec<Stage> {
    let mut random = Random::new(seed);
    let drawn = (0..count.min(DRAWN))
        .map(|_| random.draw() as f64 / u64::MAX as f64)
        .map(|share| (least + (most - least) * share).max(1e-9))
        .map(|between| steady(between, between));
    let mean = ((least + most) / 2.0).max(1e-9);
    drawn.chain([steady(mean, FOR_EVER)]).collect()
}

/// Returns a stage with an arrival every `between` seconds for `lasts` seconds.
pub fn steady(between: f64, lasts: f64) -> Stage {
    let rate = if between > 0.0 { 1.0 / between } else { 0.0 };
    Stage {
        duration: Duration::try_from_secs_f64(lasts).unwrap_or_default(),
        from: rate,
        to: rate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mehari_load::Timetable;
    use mehari_load::{Arrivals, Schedule};

    #[test]
    fn intervals_stay_within_their_bounds_and_arrivals_go_on_after_the_drawn_intervals() {
        let schedule = Schedule::Stages {
            stages: stages(0.001, 0.003, 500, 7),
            arrivals: Arrivals::Constant,
            most_connections: 1,
        };
        let timetable = Timetable::new(&schedule, 7, 0, 1).expect("an open loop has a timetable");
        let moments: Vec<f64> = timetable.take(600).map(|moment| moment.seconds()).collect();
        let gaps: Vec<f64> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps.len(), 599);
        assert!(gaps.iter().all(|gap| (0.000_999..=0.003_001).contains(gap)));
        let mean = gaps[..500].iter().sum::<f64>() / 500.0;
        assert!((0.0018..0.0022).contains(&mean), "{mean}");
        let spread = gaps[..500].iter().filter(|gap| **gap < 0.0015).count();
        assert!(
            (80..170).contains(&spread),
            "{spread} of 500 in the lower quarter"
        );
    }
}

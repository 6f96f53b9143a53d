//! Computes the intended starts of requests. The k-th start is the time at which the plan expects k
//! arrivals. For Poisson arrivals a running sum of exponential random numbers takes the place of k.
//!
//! Each start follows from the number of the arrival alone, never from the time at which an earlier
//! request was sent. Errors therefore do not add up, and a slow server cannot delay the plan. With
//! W threads, each thread takes every W-th arrival.

use crate::moment::Moment;
use crate::plan::{Arrivals, Plan, Schedule, Stage};
use crate::random::Random;

/// The intended starts of one thread, in order.
#[derive(Clone, Debug)]
pub struct Timetable {
    stages: Vec<Stage>,
    /// For each stage: the arrivals expected before the stage, and the stage's start in seconds.
    before: Vec<(f64, f64)>,
    stage: usize,
    poisson: Option<Random>,
    /// The number of arrivals that the plan expects before the next start.
    position: f64,
    /// The number of arrivals from one arrival of this thread to the next: the number of threads.
    stride: u64,
    /// The number of this thread's next arrival, counted over all threads.
    number: u64,
}

impl Timetable {
    /// Returns the timetable of a thread; `None` for a closed loop.
    pub fn new(schedule: &Schedule, seed: u64, thread: usize, threads: usize) -> Option<Timetable> {
        let (stages, arrivals) = match schedule {
            Schedule::Closed { .. } => return None,
            Schedule::Open { rate, arrivals, .. } => {
                let forever = std::time::Duration::from_secs(10_000_000_000);
                (
                    vec![Stage {
                        duration: forever,
                        from: *rate,
                        to: *rate,
                    }],
                    *arrivals,
                )
            }
            Schedule::Stages {
                stages, arrivals, ..
            } => (stages.clone(), *arrivals),
        };
        let mut before = Vec::with_capacity(stages.len());
        let (mut expected, mut begin) = (0.0, 0.0);
        for stage in &stages {
            before.push((expected, begin));
            expected += expected_within(stage);
            begin += stage.duration.as_secs_f64();
        }
        Some(
            Timetable {
                stages,
                before,
                stage: 0,
                poisson: (arrivals == Arrivals::Poisson).then(|| Random::new(seed)),
                position: 0.0,
                stride: threads as u64,
                number: thread as u64,
            }
            .positioned(thread),
        )
    }

    fn positioned(mut self, thread: usize) -> Timetable {
        if let Some(random) = &mut self.poisson {
            self.position = (0..=thread).map(|_| random.exponential()).sum();
        }
        self
    }

    fn advance(&mut self) {
        self.number += self.stride;
        if let Some(random) = &mut self.poisson {
            self.position += (0..self.stride).map(|_| random.exponential()).sum::<f64>();
        }
    }
}

impl Iterator for Timetable {
    type Item = Moment;

    /// Returns the next intended start; `None` after the last stage.
    fn next(&mut self) -> Option<Moment> {
        let position = match self.poisson {
            Some(_) => self.position,
            None => self.number as f64,
        };
        loop {
            let stage = *self.stages.get(self.stage)?;
            let (expected, begin) = self.before[self.stage];
            let within = position - expected;
            if within < expected_within(&stage) {
                self.advance();
                let seconds = begin + time_of(&stage, within);
                return Some(Moment((seconds * 1e9).round() as u64));
            }
            self.stage += 1;
        }
    }
}

/// Returns the time at which the plan ends: the time of its stop rule or the end of its stages.
/// `NEVER` means that time does not end the plan.
pub fn planned_end(plan: &Plan) -> Moment {
    let by_rule = plan.stop.time.map_or(Moment::NEVER, |time| {
        Moment::ZERO.after(plan.warm_up + time)
    });
    match &plan.schedule {
        Schedule::Stages { stages, .. } => {
            by_rule.min(Moment::ZERO.after(stages.iter().map(|stage| stage.duration).sum()))
        }
        _ => by_rule,
    }
}

/// Returns the arrivals expected in a whole stage.
fn expected_within(stage: &Stage) -> f64 {
    (stage.from + stage.to) / 2.0 * stage.duration.as_secs_f64()
}

/// Returns how many seconds after its start the stage expects `count` arrivals. The result t solves
/// from * t + slope * t² / 2 = count.
fn time_of(stage: &Stage, count: f64) -> f64 {
    let slope = (stage.to - stage.from) / stage.duration.as_secs_f64();
    if slope.abs() < 1e-9 {
        return count / stage.from;
    }
    // This form loses no digits when the slope is small.
    let root = (stage.from * stage.from + 2.0 * slope * count)
        .max(0.0)
        .sqrt();
    2.0 * count / (stage.from + root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn seconds(schedule: &Schedule, threads: usize, count: usize) -> Vec<f64> {
        let mut all: Vec<f64> = (0..threads)
            .filter_map(|thread| Timetable::new(schedule, 7, thread, threads))
            .flat_map(|timetable| timetable.take(count / threads))
            .map(Moment::seconds)
            .collect();
        all.sort_by(f64::total_cmp);
        all
    }

    fn open(rate: f64, arrivals: Arrivals) -> Schedule {
        Schedule::Open {
            rate,
            arrivals,
            most_connections: 1,
        }
    }

    #[test]
    fn constant_arrivals_do_not_drift_and_threads_share_them() {
        let moments = seconds(&open(3.0, Arrivals::Constant), 2, 3_000_000);
        for (number, moment) in moments.iter().enumerate() {
            assert!(
                (moment - number as f64 / 3.0).abs() < 2e-9,
                "arrival {number} at {moment}"
            );
        }
    }

    #[test]
    fn poisson_gaps_have_mean_and_deviation_of_an_exponential() {
        for threads in [1, 3] {
            let moments = seconds(&open(1000.0, Arrivals::Poisson), threads, 300_000);
            let gaps: Vec<f64> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance =
                gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
            assert!(
                (mean * 1000.0 - 1.0).abs() < 0.01,
                "mean {mean} with {threads} threads"
            );
            assert!(
                (variance.sqrt() * 1000.0 - 1.0).abs() < 0.02,
                "deviation {}",
                variance.sqrt()
            );
        }
    }

    #[test]
    fn poisson_threads_share_one_sequence() {
        let alone = seconds(&open(10.0, Arrivals::Poisson), 1, 300);
        let shared = seconds(&open(10.0, Arrivals::Poisson), 3, 300);
        assert_eq!(alone, shared);
    }

    #[test]
    fn a_ramp_follows_its_formula() {
        let stages = vec![
            Stage {
                duration: Duration::from_secs(10),
                from: 0.0,
                to: 100.0,
            },
            Stage {
                duration: Duration::from_secs(10),
                from: 100.0,
                to: 100.0,
            },
            Stage {
                duration: Duration::from_secs(10),
                from: 100.0,
                to: 0.0,
            },
        ];
        let schedule = Schedule::Stages {
            stages,
            arrivals: Arrivals::Constant,
            most_connections: 1,
        };
        let moments = seconds(&schedule, 1, 10_000);
        assert_eq!(moments.len(), 2000);
        // In the first stage 5 t² arrivals come within t seconds.
        assert!((moments[125] - 5.0).abs() < 1e-6);
        assert!((moments[500] - 10.0).abs() < 1e-6);
        assert!((moments[1000] - 15.0).abs() < 1e-6);
        // Of the last 500 arrivals, 500 - 5 (30 - t)² come before second t.
        assert!((moments[1500 + 375] - 25.0).abs() < 1e-6);
        assert!(moments.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

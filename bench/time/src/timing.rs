//! Measures the candidates of a file in blocks, and compares them.
//!
//! A block starts a driver of its own and gives each candidate several slices. The slices take
//! turns, forwards and backwards, so that a disturbance meets all candidates. The cost of calling
//! an empty sub is measured as one more candidate and subtracted. A block's figure of a candidate
//! is the median of its slices.

use crate::driver::{file_of, Driver, Job, Took, EMPTY};
use crate::error::TimeError;
use crate::instructions::Counted;
use mehari_record::statistics::{
    mean_and_deviation, t_quantile, Better, Comparison, Conclusion, Interval,
};
use serde::Serialize;
use std::time::Duration;

/// All intervals are 99 % confidence intervals.
const LEVEL: f64 = 0.01;
/// Ratios within 1 % count as equal in practice.
pub const THRESHOLD: f64 = 0.01;
/// The slices of a candidate in a block, after a shorter one that warms the process.
const SLICES: usize = 5;
/// The least cost of a sub, as a part of what the call of an empty sub costs.
const LEAST: f64 = 0.03;
/// A slice of a waiting sub is over when this many times the length of a slice has passed.
const WAITING: f64 = 5.0;

/// The clock by which candidates are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// The processor time of the sub's process.
    Cpu,
    /// The time on the wall.
    Wall,
}

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// At least [`mehari_record::statistics::LEAST_BLOCKS`].
    pub blocks: usize,
    /// The length of a slice.
    pub slice: Duration,
    pub clock: Clock,
}

/// One sub of the file. Times are nanoseconds a call, less what the call of an empty sub takes.
#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    pub name: String,
    /// The calls of a slice.
    pub calls: u64,
    /// The geometric mean of the blocks' figures by the chosen clock.
    pub ns: f64,
    pub interval: Interval,
    /// The 5th, 50th and 95th percentile of the slices.
    pub percentiles: [f64; 3],
    /// The median of the slices by each clock.
    pub cpu_ns: f64,
    pub wall_ns: f64,
    /// The counts less those of an empty sub. Null: instructions are not counted.
    pub counted: Option<Counted>,
    /// Whether the sub waits: the wall clock goes on by more than on a busy machine.
    pub waits: bool,
    /// The figures of the blocks.
    #[serde(skip)]
    blocks: Vec<f64>,
}

/// How one candidate compares with another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The time of the one, divided by the time of the other.
    pub ratio: f64,
    pub interval: Interval,
    pub conclusion: Conclusion,
}

/// The measured candidates of a file, in the order of the file.
#[derive(Clone, Debug, Serialize)]
pub struct Timing {
    pub file: String,
    pub clock: Clock,
    pub candidates: Vec<Candidate>,
    /// The cost of calling an empty sub, in nanoseconds.
    pub empty_call_ns: f64,
}

impl Timing {
    /// Measures the file's subs.
    ///
    /// # Errors
    /// The file cannot be loaded, or a sub cannot be measured.
    pub fn measure(job: &Job, effort: &Effort) -> Result<Timing, TimeError> {
        let mut first = Driver::start(job, true)?;
        let mut subs = vec![Sub::new(EMPTY)];
        subs.extend(first.names().iter().map(|name| Sub::new(name)));
        for sub in &mut subs {
            sub.calls = calls_of_a_slice(&mut first, &sub.name, effort.slice)?;
        }
        first.finish();
        for _ in 0..effort.blocks {
            let mut driver = Driver::start(job, false)?;
            measure_block(&mut driver, &mut subs, effort.clock)?;
            driver.finish();
        }
        Timing::of(job, effort, &subs)
    }

    fn of(job: &Job, effort: &Effort, subs: &[Sub]) -> Result<Timing, TimeError> {
        let file = file_of(job);
        let (empty, subs) = match subs {
            [empty, subs @ ..] => (empty, subs),
            [] => return Err(TimeError::NoSubs { file }),
        };
        let candidates = subs.iter().map(|sub| sub.less(empty, &file, effort.clock));
        Ok(Timing {
            candidates: candidates.collect::<Result<Vec<_>, _>>()?,
            clock: effort.clock,
            empty_call_ns: median(&empty.blocks),
            file,
        })
    }

    /// Counts the instructions of each candidate.
    ///
    /// # Errors
    /// valgrind is missing or cannot run this perl.
    pub fn count(&mut self, job: &Job) -> Result<(), TimeError> {
        let empty = Counted::of(job, None, self.empty_call_ns.max(1.0))?;
        for candidate in &mut self.candidates {
            let counted = Counted::of(job, Some(&candidate.name), candidate.cpu_ns.max(1.0))?;
            candidate.counted = Some(counted.less(&empty));
        }
        Ok(())
    }

    /// Compares `other` with `base`. The intervals of all comparisons of the file with one base
    /// hold together: with k candidates, each has the level 1 % / (k - 1).
    ///
    /// # Errors
    /// The blocks are too few.
    pub fn difference(&self, other: &Candidate, base: &Candidate) -> Result<Difference, TimeError> {
        let pairs: Vec<(f64, f64)> = base
            .blocks
            .iter()
            .copied()
            .zip(other.blocks.iter().copied())
            .collect();
        let comparisons = self.candidates.len().saturating_sub(1).max(1) as f64;
        let compared = Comparison::paired_at(&pairs, LEVEL / comparisons);
        let compared = compared.map_err(|cause| TimeError::NoInterval {
            file: self.file.clone(),
            sub: other.name.clone(),
            cause,
        })?;
        Ok(Difference {
            ratio: compared.ratio,
            interval: compared.interval,
            conclusion: compared.conclude(
                Better::Lower,
                THRESHOLD,
                compared.probability * comparisons,
            ),
        })
    }
}

/// A sub that is being measured.
struct Sub {
    name: String,
    calls: u64,
    /// What a call took in each slice.
    slices: Vec<Took>,
    /// The medians of the blocks by the chosen clock.
    blocks: Vec<f64>,
}

impl Sub {
    fn new(name: &str) -> Sub {
        Sub {
            name: name.to_owned(),
            calls: 1,
            slices: Vec::new(),
            blocks: Vec::new(),
        }
    }

    fn slice(&self, driver: &mut Driver, calls: u64) -> Result<Took, TimeError> {
        let took = driver.calls(&self.name, calls)?;
        Ok(Took {
            cpu: took.cpu / calls as f64,
            wall: took.wall / calls as f64,
        })
    }

    /// Returns the time on the wall divided by the processor time, which a busy machine makes large
    /// for all subs.
    fn wall_by_cpu(&self) -> f64 {
        let of = |clock| self.slices.iter().map(|took| took.by(clock)).sum::<f64>();
        of(Clock::Wall) / of(Clock::Cpu)
    }

    /// Returns the sub as a candidate, less the empty sub.
    fn less(&self, empty: &Sub, file: &str, clock: Clock) -> Result<Candidate, TimeError> {
        let pairs = self.blocks.iter().zip(&empty.blocks);
        let blocks: Vec<f64> = pairs.map(|(all, call)| all - call).collect();
        if blocks.iter().any(|ns| *ns <= 0.0) || median(&blocks) < LEAST * median(&empty.blocks) {
            return Err(TimeError::TooCheap {
                file: file.to_owned(),
                sub: self.name.clone(),
            });
        }
        let by = |clock| {
            let of = |sub: &Sub| {
                sub.slices
                    .iter()
                    .map(|took| took.by(clock))
                    .collect::<Vec<f64>>()
            };
            let call = median(&of(empty));
            of(self)
                .into_iter()
                .map(|ns| ns - call)
                .collect::<Vec<f64>>()
        };
        let logarithms: Vec<f64> = blocks.iter().map(|ns| ns.ln()).collect();
        let (mean, deviation) = mean_and_deviation(&logarithms);
        let count = blocks.len() as f64;
        let reach = t_quantile(1.0 - LEVEL / 2.0, count - 1.0) * deviation / count.sqrt();
        Ok(Candidate {
            name: self.name.clone(),
            calls: self.calls,
            ns: mean.exp(),
            interval: Interval {
                low: (mean - reach).exp(),
                high: (mean + reach).exp(),
            },
            percentiles: [0.05, 0.5, 0.95].map(|part| percentile(&by(clock), part)),
            cpu_ns: median(&by(Clock::Cpu)),
            wall_ns: median(&by(Clock::Wall)),
            counted: None,
            waits: self.wall_by_cpu() > 2.0 * empty.wall_by_cpu(),
            blocks,
        })
    }
}

impl Took {
    fn by(&self, clock: Clock) -> f64 {
        match clock {
            Clock::Cpu => self.cpu,
            Clock::Wall => self.wall,
        }
    }
}

/// Returns how many calls fill a slice.
fn calls_of_a_slice(driver: &mut Driver, name: &str, slice: Duration) -> Result<u64, TimeError> {
    let wanted = slice.as_nanos() as f64;
    let mut calls: u64 = 1;
    // The first call does what later calls need not do again.
    driver.calls(name, 1)?;
    loop {
        let took = driver.calls(name, calls)?;
        if took.cpu >= wanted || took.wall >= WAITING * wanted {
            return Ok(calls);
        }
        let factor = (1.2 * wanted / took.cpu.max(took.wall / WAITING)).clamp(1.2, 100.0);
        calls = (calls as f64 * factor).ceil() as u64;
    }
}

/// Measures each sub in a new driver.
fn measure_block(driver: &mut Driver, subs: &mut [Sub], clock: Clock) -> Result<(), TimeError> {
    for sub in subs.iter() {
        sub.slice(driver, sub.calls.div_ceil(2))?;
    }
    let mut order: Vec<usize> = (0..subs.len()).collect();
    for _ in 0..SLICES {
        for at in &order {
            let took = subs[*at].slice(driver, subs[*at].calls)?;
            subs[*at].slices.push(took);
        }
        order.reverse();
    }
    for sub in subs {
        let from = sub.slices.len() - SLICES;
        let times: Vec<f64> = sub.slices[from..]
            .iter()
            .map(|took| took.by(clock))
            .collect();
        sub.blocks.push(median(&times));
    }
    Ok(())
}

fn median(values: &[f64]) -> f64 {
    percentile(values, 0.5)
}

/// Returns the value below which the part of the values lies, interpolated.
fn percentile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0.0;
    };
    let place = part * last as f64;
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    sorted[low] + (sorted[high] - sorted[low]) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_lie_between_the_values() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(median(&values), 2.5);
        assert_eq!(percentile(&values, 0.0), 1.0);
        assert_eq!(percentile(&values, 1.0), 4.0);
        assert_eq!(median(&[]), 0.0);
    }
}

//! Compares two profiles by shares of time, and says which differences are proven.
//!
//! Samples of one process are not independent: a slow request fills many of them. Each profile is
//! therefore cut into blocks of time. The variance of a share is that between the blocks (the
//! linearised variance of a ratio), or the binomial variance if this is larger. Blocks count as
//! independent, so they must be longer than a request. Holm's method corrects for the number of
//! rows.

use crate::grouping::Grouping;
use crate::profile::{Observation, Profile};
use mehari_record::statistics::{holm, t_quantile, t_two_sided};
use std::collections::HashMap;

/// The number of blocks of a profile.
const BLOCKS: usize = 20;
/// The probability below which a difference counts as proven.
const LEVEL: f64 = 0.05;

/// Which time is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The time on a core.
    Cpu,
    /// The time that passed in requests.
    Wall,
}

impl Clock {
    fn takes(self, seen: &Observation) -> bool {
        seen.is_running || self == Clock::Wall
    }

    /// Returns the seconds for which one look stands.
    fn weight(self, profile: &Profile) -> f64 {
        match self {
            Clock::Cpu => profile.cpu_weight(),
            Clock::Wall => profile.wall_weight(),
        }
    }
}

/// A sub or a line in both profiles. Shares are from 0 to 1, of the time itself.
#[derive(Debug, Clone, PartialEq)]
pub struct DifferenceRow {
    pub name: String,
    pub before: TimeShare,
    pub after: TimeShare,
    /// The 95 % confidence interval of the share after minus the share before.
    pub low: f64,
    pub high: f64,
    /// The probability of so large a difference by chance, corrected for the number of rows.
    pub probability: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TimeShare {
    pub share: f64,
    /// Milliseconds in each second of the sampling.
    pub rate: f64,
}

impl DifferenceRow {
    pub fn difference(&self) -> f64 {
        self.after.share - self.before.share
    }

    pub fn is_proven(&self) -> bool {
        self.probability < LEVEL
    }
}

/// Two profiles to compare.
#[derive(Clone, Copy)]
pub struct Difference<'p> {
    pub before: &'p Profile,
    pub after: &'p Profile,
    pub clock: Clock,
}

impl Difference<'_> {
    /// Returns all rows, the largest difference first.
    pub fn rows(&self, grouping: Grouping) -> Vec<DifferenceRow> {
        let before = BlockTallies::of(self.before, self.clock, grouping);
        let after = BlockTallies::of(self.after, self.clock, grouping);
        let mut names: Vec<&String> = before.own.keys().chain(after.own.keys()).collect();
        names.sort();
        names.dedup();
        let mut rows: Vec<DifferenceRow> = names
            .into_iter()
            .map(|name| compare(name, &before, &after))
            .collect();
        let probabilities: Vec<f64> = rows.iter().map(|row| row.probability).collect();
        for (row, corrected) in rows.iter_mut().zip(holm(&probabilities)) {
            row.probability = corrected;
        }
        rows.sort_by(|one, other| {
            let size = |row: &DifferenceRow| row.difference().abs();
            size(other).total_cmp(&size(one))
        });
        rows
    }

    /// Returns the milliseconds of this clock in each second, before and after.
    pub fn rates(&self) -> (f64, f64) {
        let rate = |profile| {
            let tallies = BlockTallies::of(profile, self.clock, Grouping::Sub);
            tallies.sum * tallies.rate
        };
        (rate(self.before), rate(self.after))
    }
}

/// The looks of a profile by name and block.
struct BlockTallies {
    /// The looks that saw the name itself, not a callee.
    own: HashMap<String, [f64; BLOCKS]>,
    all: [f64; BLOCKS],
    sum: f64,
    /// Milliseconds in each second for which one look stands.
    rate: f64,
}

impl BlockTallies {
    fn of(profile: &Profile, clock: Clock, grouping: Grouping) -> BlockTallies {
        let taken = profile.observations.iter().filter(|it| clock.takes(it));
        let end = taken.clone().map(|it| it.at).max().unwrap_or(0) + 1;
        let (mut own, mut all) = (HashMap::new(), [0.0; BLOCKS]);
        let mut names: HashMap<u32, Option<String>> = HashMap::new();
        for seen in taken {
            let block = (seen.at as u128 * BLOCKS as u128 / u128::from(end)) as usize;
            let count = f64::from(seen.count);
            all[block] += count;
            let name = names
                .entry(seen.stack)
                .or_insert_with(|| innermost(profile, seen.stack, grouping));
            if let Some(name) = name {
                let blocks: &mut [f64; BLOCKS] = match own.get_mut(name.as_str()) {
                    Some(blocks) => blocks,
                    None => own.entry(name.clone()).or_default(),
                };
                blocks[block] += count;
            }
        }
        BlockTallies {
            own,
            sum: all.iter().sum(),
            all,
            rate: 1000.0 * clock.weight(profile) / profile.facts.seconds.max(1e-9),
        }
    }

    fn share(&self, name: &str) -> (TimeShare, ShareVariance) {
        let own = self.own.get(name).copied().unwrap_or_default();
        let own_sum: f64 = own.iter().sum();
        let share = match self.sum {
            0.0 => 0.0,
            sum => own_sum / sum,
        };
        let rate = own_sum * self.rate;
        (
            TimeShare { share, rate },
            self.variance(&own, own_sum, share),
        )
    }

    fn variance(&self, own: &[f64; BLOCKS], own_sum: f64, share: f64) -> ShareVariance {
        let filled = self.all.iter().filter(|&&count| count > 0.0).count() as f64;
        if filled < 2.0 {
            return ShareVariance {
                variance: f64::INFINITY,
                degrees: 1.0,
            };
        }
        let residuals = own
            .iter()
            .zip(&self.all)
            .map(|(own, all)| own - share * all);
        let squares: f64 = residuals.map(|residual| residual.powi(2)).sum();
        let between = filled / (filled - 1.0) * squares / self.sum.powi(2);
        // The share is moved a little towards 1/2: otherwise a share of 0 would have no variance.
        let near = (own_sum + 1.0) / (self.sum + 2.0);
        let binomial = near * (1.0 - near) / self.sum;
        ShareVariance {
            variance: between.max(binomial),
            degrees: filled - 1.0,
        }
    }
}

struct ShareVariance {
    variance: f64,
    degrees: f64,
}

fn innermost(profile: &Profile, stack: u32, grouping: Grouping) -> Option<String> {
    let mut frames = profile.stacks[stack as usize].iter().rev();
    frames.find_map(|&frame| grouping.name(profile, frame))
}

/// Welch's test of two shares.
fn compare(name: &str, before: &BlockTallies, after: &BlockTallies) -> DifferenceRow {
    let ((before, noise), (after, noise_after)) = (before.share(name), after.share(name));
    let sum = noise.variance + noise_after.variance;
    let part = |it: &ShareVariance| it.variance.powi(2) / it.degrees;
    let (difference, error) = (after.share - before.share, sum.sqrt());
    let (margin, probability) = if sum.is_finite() {
        let degrees = sum.powi(2) / (part(&noise) + part(&noise_after));
        let margin = t_quantile(1.0 - LEVEL / 2.0, degrees) * error;
        (margin, t_two_sided(difference / error, degrees))
    } else {
        (1.0, 1.0)
    };
    DifferenceRow {
        name: name.to_owned(),
        before,
        after,
        low: (difference - margin).max(-1.0),
        high: (difference + margin).min(1.0),
        probability,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{FrameKind, FrameLabel};

    struct Random(u64);

    impl Random {
        fn next(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    /// A process that calls one sub after another, each for `run` looks in a row.
    fn profile(random: &mut Random, share_of_a: f64, looks: u64, run: u64) -> Profile {
        let mut profile = Profile::default();
        let subs = ["a", "b", "c"].map(|name| {
            profile.stack(vec![FrameLabel {
                name: name.into(),
                file: "f.pl".into(),
                line: 1,
                kind: FrameKind::Perl,
            }])
        });
        let mut stack = subs[0];
        for look in 0..looks {
            if look % run == 0 {
                stack = match random.next() {
                    it if it < share_of_a => subs[0],
                    it if it < (1.0 + share_of_a) / 2.0 => subs[1],
                    _ => subs[2],
                };
            }
            profile.observations.push(Observation {
                at: look * 10_000,
                pid: 1,
                stack,
                is_running: true,
                count: 1,
            });
        }
        profile.facts.looks = looks;
        profile.facts.seconds = looks as f64 / 100.0;
        profile.facts.cpu_seconds = profile.facts.seconds / 2.0;
        profile
    }

    fn proven(before: &Profile, after: &Profile) -> Vec<String> {
        let clock = Clock::Cpu;
        let difference = Difference {
            before,
            after,
            clock,
        };
        let rows = difference.rows(Grouping::Sub).into_iter();
        let proven = rows.filter(DifferenceRow::is_proven);
        proven.map(|row| row.name).collect()
    }

    /// Requests of 10 looks are far from independent samples: a test that took each look for
    /// independent would find differences in half of these pairs.
    #[test]
    fn equal_programs_rarely_differ_although_samples_are_not_independent() {
        let mut random = Random(0x1234_5678_9abc_def1);
        let mut differ = 0;
        for _ in 0..200 {
            let before = profile(&mut random, 0.4, 2000, 10);
            let after = profile(&mut random, 0.4, 1000, 10);
            differ += usize::from(!proven(&before, &after).is_empty());
        }
        assert!(differ <= 16, "{differ} of 200");
    }

    #[test]
    fn large_difference_is_proven_and_rates_do_not_depend_on_the_duration() {
        let mut random = Random(77);
        let before = profile(&mut random, 0.3, 4000, 10);
        let after = profile(&mut random, 0.6, 8000, 10);
        assert!(proven(&before, &after).contains(&"a".to_owned()));
        let clock = Clock::Cpu;
        let (before, after) = (&before, &after);
        let difference = Difference {
            before,
            after,
            clock,
        };
        let (was, is) = difference.rates();
        assert!((was - 500.0).abs() < 1e-6 && (is - 500.0).abs() < 1e-6);
        let rows = difference.rows(Grouping::Line);
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert!(!rows[0].is_proven() && rows[0].difference() == 0.0);
    }

    #[test]
    fn few_samples_and_empty_profiles_prove_nothing() {
        let mut random = Random(5);
        let many = profile(&mut random, 0.3, 1000, 10);
        let one = profile(&mut random, 1.0, 1, 1);
        assert!(proven(&many, &one).is_empty());
        assert!(proven(&many, &Profile::default()).is_empty());
        assert!(proven(&Profile::default(), &Profile::default()).is_empty());
    }
}

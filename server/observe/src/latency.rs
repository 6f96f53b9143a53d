//! Counts durations in a histogram of microseconds. Each power of two is divided into eight
//! buckets, so a quantile is at most 12.5 % too high.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const STEPS: u64 = 8;
/// The number of groups of buckets. The first group is for values below 8, and each further group
/// is for one power of two. The buckets reach up to 2^36 µs (nineteen hours). A longer value counts
/// in the last bucket.
const OCTAVES: usize = 34;
const BUCKETS: usize = OCTAVES * STEPS as usize;

#[derive(Debug)]
pub struct Latency {
    buckets: [AtomicU64; BUCKETS],
}

impl Default for Latency {
    fn default() -> Latency {
        Latency {
            buckets: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

impl Latency {
    pub fn record(&self, us: u64) {
        self.buckets[bucket(us)].fetch_add(1, Relaxed);
    }

    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.load(Relaxed)).sum()
    }

    /// Returns the buckets that hold values: the largest value of the bucket, and the count.
    pub fn counts(&self) -> Vec<(u64, u64)> {
        let all = self.buckets.iter().enumerate();
        all.map(|(index, bucket)| (highest(index), bucket.load(Relaxed)))
            .filter(|(_, count)| *count > 0)
            .collect()
    }

    /// Returns a number of microseconds that the share `quantile` (0 to 1) of the values does not
    /// exceed. Returns `None` if there are no values.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let total = self.count();
        if total == 0 {
            return None;
        }
        let rank = ((quantile.clamp(0.0, 1.0) * total as f64).ceil() as u64).max(1);
        let mut below = 0;
        for (index, bucket) in self.buckets.iter().enumerate() {
            below += bucket.load(Relaxed);
            if below >= rank {
                return Some(highest(index));
            }
        }
        None
    }
}

/// Returns the bucket of a value. Each value below 8 has its own bucket. For larger values the
/// leading bit and the three bits after it choose the bucket.
fn bucket(us: u64) -> usize {
    if us < STEPS {
        return us as usize;
    }
    let octave = u64::from(us.ilog2()) - 2;
    let step = (us >> (octave - 1)) & (STEPS - 1);
    ((octave * STEPS + step) as usize).min(BUCKETS - 1)
}

/// Returns the largest value of a bucket, in microseconds.
fn highest(bucket: usize) -> u64 {
    let (octave, step) = (bucket as u64 / STEPS, bucket as u64 % STEPS);
    if octave == 0 {
        return step;
    }
    ((STEPS + step + 1) << (octave - 1)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_ends_with_its_highest_value() {
        for index in 0..BUCKETS - 1 {
            assert_eq!(bucket(highest(index)), index);
            assert_eq!(bucket(highest(index) + 1), index + 1);
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn a_quantile_is_at_most_an_eighth_too_high() {
        let latency = Latency::default();
        assert_eq!(latency.quantile(0.5), None);
        for us in 1..=10_000 {
            latency.record(us);
        }
        for (quantile, exact) in [(0.5, 5_000.0), (0.99, 9_900.0), (1.0, 10_000.0)] {
            let read = latency.quantile(quantile).expect("has values") as f64;
            assert!(read >= exact && read <= exact * 1.125, "{quantile}: {read}");
        }
    }
}

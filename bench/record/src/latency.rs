//! Defines a histogram of times in nanoseconds. Histograms are added without loss, and percentiles
//! are given only where there are enough samples.
//!
//! A record file holds two things for each histogram: a summary for people, and `hdr`, the
//! HdrHistogram V2 encoding in base64. Only `hdr` is read back. All histograms of records have the
//! same range and precision, so adding them is exact.

use std::ops::{Deref, DerefMut};

use base64::{engine::general_purpose::STANDARD, Engine};
use hdrhistogram::serialization::{Deserializer as HdrReader, Serializer as _, V2Serializer};
use hdrhistogram::Histogram;
use serde::{de::Error as _, Deserialize, Deserializer, Serialize, Serializer};

use crate::Error;

/// One hour, the longest time. A longer time counts as one hour.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Values keep three significant digits: the error is at most 0.1 %.
const DIGITS: u8 = 3;
const SMALL_UNIT_NS: u64 = 1_000;
const SMALL_DIGITS: u8 = 2;
/// The least number of samples beyond a percentile. With fewer samples the percentile would be
/// little different from the maximum.
const SAMPLES_BEYOND: u64 = 10;

/// A histogram of times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency(Histogram<u64>);

/// The value of a percentile, and how certain the value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantile {
    Exactly(u64),
    /// A lower bound of the value, because the percentile falls on a request that never ended.
    AtLeast(u64),
    /// Fewer than ten samples lie beyond the percentile.
    TooFew,
}

impl Latency {
    /// Makes an empty histogram.
    ///
    /// # Panics
    ///
    /// Never: the range and precision are valid constants.
    pub fn new() -> Latency {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS);
        Latency(histogram.expect("one to an hour in ns is a shape that HdrHistogram accepts"))
    }

    /// Returns a small histogram for a bucket of a timeline. The histogram grows on demand, and its
    /// error is at most 1 µs or 1 %.
    pub(crate) fn small() -> Latency {
        let histogram = Histogram::new_with_bounds(SMALL_UNIT_NS, 2 * SMALL_UNIT_NS, SMALL_DIGITS);
        let mut histogram = histogram.expect("a microsecond is a unit that HdrHistogram accepts");
        histogram.auto(true);
        Latency(histogram)
    }

    /// Counts one time. Zero counts as one nanosecond, and more than an hour as an hour.
    #[inline]
    pub fn count(&mut self, ns: u64) {
        let ns = ns.clamp(1, LONGEST_NS);
        // `record` lets a small histogram grow, but a histogram of fixed range may refuse the
        // value. `saturating_record` never refuses, but does not let a histogram grow.
        if self.0.record(ns).is_err() {
            self.0.saturating_record(ns);
        }
    }

    /// Adds the counts of another histogram without loss.
    ///
    /// # Errors
    /// [`Error::Unmergeable`] if the histograms differ in range or precision.
    pub fn add(&mut self, other: &Latency) -> Result<(), Error> {
        if self.sigfig() != other.sigfig() || self.low() != other.low() {
            return Err(Error::Unmergeable(format!(
                "histograms of {} and {} digits do not add exactly",
                self.sigfig(),
                other.sigfig()
            )));
        }
        self.0
            .add(&other.0)
            .map_err(|_| Error::Unmergeable("a histogram holds times above an hour".into()))
    }

    /// Returns the value at `percentile` (0 to 100) over all requests, including those that never
    /// ended.
    ///
    /// The value is the time within which this share of all requests was answered. `unended` holds
    /// the waiting times of the requests that never ended (right-censored values). These requests
    /// rank behind all requests that ended. If the percentile falls on such a request, the result
    /// is a lower bound: the waiting time.
    pub fn quantile(&self, percentile: f64, unended: &Latency) -> Quantile {
        let total = self.len() + unended.len();
        let beyond = total as f64 * (1.0 - percentile / 100.0);
        // The allowance is necessary because 1 - 0.99 is not 0.01 in binary.
        if total == 0 || (percentile < 100.0 && beyond + 1e-6 < SAMPLES_BEYOND as f64) {
            return Quantile::TooFew;
        }
        let rank = (total as f64 * percentile / 100.0 - 1e-6).ceil().max(1.0) as u64;
        if rank <= self.len() {
            return Quantile::Exactly(self.value_at_rank(rank));
        }
        let mut all = self.clone();
        if all.add(unended).is_err() {
            return Quantile::TooFew;
        }
        Quantile::AtLeast(all.value_at_percentile(percentile))
    }

    /// Returns the time of the request with this rank. The shortest time has rank 1.
    fn value_at_rank(&self, rank: u64) -> u64 {
        // Half a rank is subtracted, so rounding never reaches the next rank.
        self.value_at_quantile((rank as f64 - 0.5) / self.len() as f64)
    }

    /// Returns the histogram as HdrHistogram V2, uncompressed.
    ///
    /// # Panics
    ///
    /// Never: writing to memory does not fail.
    pub fn to_v2(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(&self.0, &mut bytes)
            .expect("writing to memory does not fail");
        bytes
    }

    pub fn from_v2(bytes: &[u8]) -> Option<Latency> {
        let mut rest = bytes;
        let mut histogram: Histogram<u64> = HdrReader::new().deserialize(&mut rest).ok()?;
        histogram.auto(true);
        Some(Latency(histogram))
    }
}

impl Default for Latency {
    fn default() -> Latency {
        Latency::new()
    }
}

impl From<Histogram<u64>> for Latency {
    fn from(mut histogram: Histogram<u64>) -> Latency {
        histogram.auto(true);
        Latency(histogram)
    }
}

impl Deref for Latency {
    type Target = Histogram<u64>;
    fn deref(&self) -> &Histogram<u64> {
        &self.0
    }
}

impl DerefMut for Latency {
    fn deref_mut(&mut self) -> &mut Histogram<u64> {
        &mut self.0
    }
}

#[derive(Serialize)]
struct Summary {
    unit: &'static str,
    count: u64,
    min: u64,
    mean: u64,
    stdev: u64,
    p50: u64,
    p90: u64,
    p99: u64,
    p99_9: u64,
    max: u64,
    hdr: String,
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Summary {
            unit: "ns",
            count: self.len(),
            min: self.min(),
            mean: self.mean().round() as u64,
            stdev: self.stdev().round() as u64,
            p50: self.value_at_percentile(50.0),
            p90: self.value_at_percentile(90.0),
            p99: self.value_at_percentile(99.0),
            p99_9: self.value_at_percentile(99.9),
            max: self.max(),
            hdr: STANDARD.encode(self.to_v2()),
        }
        .serialize(serializer)
    }
}

#[derive(Deserialize)]
struct Encoded {
    hdr: String,
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Latency, D::Error> {
        let encoded = Encoded::deserialize(deserializer)?;
        STANDARD
            .decode(encoded.hdr)
            .ok()
            .and_then(|bytes| Latency::from_v2(&bytes))
            .ok_or_else(|| D::Error::custom("`hdr` is not a base64 HdrHistogram V2"))
    }
}

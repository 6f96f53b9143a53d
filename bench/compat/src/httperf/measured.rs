//! Defines the results of a run for httperf's report. Times are in seconds.

use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// One hour in microseconds. The median counts a longer time as one hour. Extremes and means stay
/// exact.
const LONGEST: u64 = 3_600_000_000;

/// Count, sum and spread of a quantity.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Series {
    pub count: u64,
    pub mean: f64,
    squares: f64,
    pub min: f64,
    pub max: f64,
}

impl Series {
    pub fn add(&mut self, value: f64) {
        self.min = if self.count == 0 {
            value
        } else {
            self.min.min(value)
        };
        self.max = self.max.max(value);
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// Returns the standard deviation of the sample; 0 with fewer than two values.
    pub fn deviation(&self) -> f64 {
        match self.count {
            0 | 1 => 0.0,
            count => (self.squares / (count - 1) as f64).sqrt(),
        }
    }
}

/// Lifetimes of the connections with at least one reply.
#[derive(Debug)]
pub struct Lifetimes {
    pub series: Series,
    /// The number of lifetimes for each whole millisecond: httperf's bins, which `-vv` prints.
    pub bins: BTreeMap<u64, u64>,
    microseconds: Histogram<u64>,
}

impl Lifetimes {
    pub fn new() -> Lifetimes {
        Lifetimes {
            series: Series::default(),
            bins: BTreeMap::new(),
            microseconds: Histogram::new_with_bounds(1, LONGEST, 3)
                .expect("HdrHistogram accepts an hour with three digits"),
        }
    }

    pub fn add(&mut self, seconds: f64) {
        self.series.add(seconds);
        *self.bins.entry((seconds * 1e3) as u64).or_default() += 1;
        self.microseconds.saturating_record((seconds * 1e6) as u64);
    }

    pub fn median(&self) -> f64 {
        match self.series.count {
            0 => 0.0,
            _ => self.microseconds.value_at_quantile(0.5) as f64 / 1e6,
        }
    }

    /// Returns httperf's median: the middle of the millisecond in which the true median lies.
    pub fn binned_median(&self) -> f64 {
        let mut seen = 0;
        for (bin, count) in &self.bins {
            seen += count;
            if 2 * seen >= self.series.count {
                return (*bin as f64 + 0.5) / 1e3;
            }
        }
        0.0
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Errors {
    pub client_timeouts: u64,
    pub socket_timeouts: u64,
    pub refused: u64,
    pub reset: u64,
    pub no_descriptor: u64,
    pub no_address: u64,
    pub table_full: u64,
    pub other: u64,
}

impl Errors {
    pub fn total(&self) -> u64 {
        self.client_timeouts
            + self.socket_timeouts
            + self.refused
            + self.reset
            + self.no_descriptor
            + self.no_address
            + self.table_full
            + self.other
    }
}

/// The additional lines of a session workload.
#[derive(Debug, Default)]
pub struct Sessions {
    pub rates: Series,
    pub connections: u64,
    pub lifetimes: Series,
    pub failtimes: Series,
    /// Sessions by their number of replies.
    pub lengths: Vec<u64>,
}

impl Sessions {
    pub fn total(&self) -> u64 {
        self.lifetimes.count + self.failtimes.count
    }
}

#[derive(Debug)]
pub struct Measured {
    /// The most connects issued without another event between them.
    pub longest_connect_burst: u64,
    pub connections: u64,
    pub requests: u64,
    /// The number of replies for each first digit of the status. No status begins with 0.
    pub replies: [u64; 6],
    pub duration: f64,
    pub most_connections: u64,
    pub lifetimes: Lifetimes,
    /// The times of the successful connects, including TLS.
    pub connects: Series,
    pub responses: Series,
    pub transfers: Series,
    pub bytes_sent: u64,
    pub head_bytes: u64,
    pub content_bytes: u64,
    pub footer_bytes: u64,
    /// Replies per second, one value for each five seconds.
    pub reply_rates: Series,
    pub user_seconds: f64,
    pub system_seconds: f64,
    pub errors: Errors,
    pub sessions: Option<Sessions>,
}

impl Measured {
    pub fn new(with_sessions: bool) -> Measured {
        Measured {
            longest_connect_burst: 0,
            connections: 0,
            requests: 0,
            replies: [0; 6],
            duration: 0.0,
            most_connections: 0,
            lifetimes: Lifetimes::new(),
            connects: Series::default(),
            responses: Series::default(),
            transfers: Series::default(),
            bytes_sent: 0,
            head_bytes: 0,
            content_bytes: 0,
            footer_bytes: 0,
            reply_rates: Series::default(),
            user_seconds: 0.0,
            system_seconds: 0.0,
            errors: Errors::default(),
            sessions: with_sessions.then(Sessions::default),
        }
    }

    pub fn all_replies(&self) -> u64 {
        self.replies.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_computes_the_deviation_of_a_sample() {
        let mut series = Series::default();
        for value in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            series.add(value);
        }
        assert_eq!((series.mean, series.min, series.max), (5.0, 2.0, 9.0));
        assert!((series.deviation() - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn only_httperfs_median_lies_in_the_middle_of_a_millisecond() {
        let mut lifetimes = Lifetimes::new();
        for seconds in [0.0021, 0.0022, 0.0999] {
            lifetimes.add(seconds);
        }
        assert_eq!(lifetimes.binned_median(), 0.0025);
        assert!((lifetimes.median() - 0.0022).abs() < 2e-6);
    }
}

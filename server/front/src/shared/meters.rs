//! Collects the durations of requests by method and status, if the site has a page that shows the
//! durations.

use std::time::Duration;

/// The upper limits of the buckets in microseconds: those of OpenTelemetry for HTTP servers, and
/// three lower limits.
pub const BOUNDS_US: [u64; 17] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 75_000, 100_000, 250_000, 500_000, 750_000,
    1_000_000, 2_500_000, 5_000_000, 7_500_000, 10_000_000,
];

/// Methods that are counted separately. Others count as `_OTHER`, as in OpenTelemetry.
const METHODS: [&str; 9] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND", "_OTHER",
];

#[derive(Default)]
pub struct Meters {
    histograms: Vec<Histogram>,
}

pub struct Histogram {
    pub method: &'static str,
    pub status: u16,
    /// The number of requests in each bucket, not cumulative. The last bucket is for durations
    /// beyond all limits.
    pub buckets: [u64; BOUNDS_US.len() + 1],
    pub sum_us: u64,
}

impl Meters {
    pub fn record(&mut self, method: &[u8], status: u16, took: Duration) {
        let known = METHODS.iter().find(|known| known.as_bytes() == method);
        let method = known.copied().unwrap_or("_OTHER");
        let took = took.as_micros() as u64;
        let mut all = self.histograms.iter_mut();
        let same = all.find(|one| one.status == status && std::ptr::eq(one.method, method));
        let histogram = match same {
            Some(histogram) => histogram,
            None => {
                self.histograms.push(Histogram {
                    method,
                    status,
                    buckets: [0; BOUNDS_US.len() + 1],
                    sum_us: 0,
                });
                let last = self.histograms.len() - 1;
                &mut self.histograms[last]
            }
        };
        let bucket = BOUNDS_US.partition_point(|bound| *bound < took);
        histogram.buckets[bucket] += 1;
        histogram.sum_us += took;
    }

    pub fn histograms(&self) -> &[Histogram] {
        &self.histograms
    }

    /// Returns the sum of all durations in microseconds.
    pub fn total_us(&self) -> u64 {
        self.histograms.iter().map(|one| one.sum_us).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_counts_in_the_bucket_that_ends_at_or_above_it() {
        let mut meters = Meters::default();
        for (method, us) in [(&b"GET"[..], 500), (b"GET", 501), (b"BREW", 99_000_000)] {
            meters.record(method, 200, Duration::from_micros(us));
        }
        let [get, other] = meters.histograms() else {
            panic!("two methods");
        };
        assert_eq!((get.method, &get.buckets[..3]), ("GET", &[1, 1, 0][..]));
        assert_eq!(
            (other.method, other.buckets[BOUNDS_US.len()]),
            ("_OTHER", 1)
        );
        assert_eq!(meters.total_us(), 99_001_001);
    }
}

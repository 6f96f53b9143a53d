//! Counts requests by place: the host and the path without its query.
//!
//! The places are bounded. Requests for further places count together in one place.

use super::watched::EndedRequest;
use std::collections::HashMap;

/// The most places that are counted apart.
const MOST: usize = 10_000;
/// The most bytes of a place's name.
const LONGEST: usize = 255;
/// The name of the place for all further places. No path begins with `(`.
const OTHERS: &[u8] = b"(other places)";

/// Four buckets for each power of two, from 16 us to about a minute.
const BUCKETS: usize = 88;

#[derive(Default)]
pub struct Places {
    /// By host number.
    hosts: Vec<HashMap<Box<[u8]>, PlaceCounts, foldhash::fast::RandomState>>,
    count: usize,
}

struct PlaceCounts {
    requests: u64,
    bytes: u64,
    client_errors: u64,
    server_errors: u64,
    cache_hits: u64,
    took_us: u64,
    queued_us: u64,
    durations: [u32; BUCKETS],
}

/// What was counted for one place. Durations are in microseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceReport {
    /// The number of the host.
    pub host: u32,
    pub path: String,
    pub requests: u64,
    pub bytes: u64,
    pub client_errors: u64,
    pub server_errors: u64,
    pub cache_hits: u64,
    pub took_us: u64,
    pub queued_us: u64,
    /// At most a quarter too high.
    pub p50_us: u64,
    pub p99_us: u64,
}

impl Places {
    pub fn record(&mut self, host: u32, path: &[u8], request: &EndedRequest) {
        let index = host as usize;
        if self.hosts.len() <= index {
            self.hosts.resize_with(index + 1, HashMap::default);
        }
        let path = &path[..path.len().min(LONGEST)];
        let is_full = self.count >= MOST;
        let places = &mut self.hosts[index];
        let path = if is_full && !places.contains_key(path) {
            OTHERS
        } else {
            path
        };
        if let Some(counts) = places.get_mut(path) {
            return counts.record(request);
        }
        self.count += 1;
        let counts = places.entry(path.into()).or_insert_with(PlaceCounts::none);
        counts.record(request);
    }

    pub fn report(&self) -> Vec<PlaceReport> {
        let hosts = self.hosts.iter().enumerate();
        hosts
            .flat_map(|(host, places)| {
                let places = places.iter();
                places.map(move |(path, counts)| counts.report(host as u32, path))
            })
            .collect()
    }
}

impl PlaceCounts {
    fn none() -> PlaceCounts {
        PlaceCounts {
            requests: 0,
            bytes: 0,
            client_errors: 0,
            server_errors: 0,
            cache_hits: 0,
            took_us: 0,
            queued_us: 0,
            durations: [0; BUCKETS],
        }
    }

    fn record(&mut self, request: &EndedRequest) {
        let took = request.took.as_micros() as u64;
        self.requests += 1;
        self.bytes += request.bytes;
        self.client_errors += u64::from((400..500).contains(&request.status));
        self.server_errors += u64::from(request.status >= 500);
        self.cache_hits += u64::from(request.is_cache_hit);
        self.took_us += took;
        self.queued_us += request.queued.as_micros() as u64;
        let count = &mut self.durations[bucket(took)];
        *count = count.saturating_add(1);
    }

    fn report(&self, host: u32, path: &[u8]) -> PlaceReport {
        PlaceReport {
            host,
            path: String::from_utf8_lossy(path).into_owned(),
            requests: self.requests,
            bytes: self.bytes,
            client_errors: self.client_errors,
            server_errors: self.server_errors,
            cache_hits: self.cache_hits,
            took_us: self.took_us,
            queued_us: self.queued_us,
            p50_us: self.quantile(50),
            p99_us: self.quantile(99),
        }
    }

    fn quantile(&self, percent: u64) -> u64 {
        let total: u64 = self.durations.iter().map(|count| u64::from(*count)).sum();
        let rank = (total * percent).div_ceil(100).max(1);
        let mut below = 0;
        let reaches = |count: &u32| {
            below += u64::from(*count);
            below >= rank
        };
        self.durations.iter().position(reaches).map_or(0, highest)
    }
}

/// Returns the bucket of a duration. The first bucket is for all below 20 us.
fn bucket(us: u64) -> usize {
    if us < 16 {
        return 0;
    }
    let octave = us.ilog2() as usize - 4;
    let step = (us >> (octave + 2)) as usize & 3;
    (octave * 4 + step).min(BUCKETS - 1)
}

/// Returns the largest duration of a bucket.
fn highest(bucket: usize) -> u64 {
    let (octave, step) = (bucket / 4, bucket as u64 % 4);
    ((4 + step + 1) << (octave + 2)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn ended(us: u64, status: u16) -> EndedRequest {
        EndedRequest {
            status,
            bytes: 10,
            took: Duration::from_micros(us),
            queued: Duration::ZERO,
            is_cache_hit: status == 200,
        }
    }

    #[test]
    fn a_place_has_its_counts_and_percentiles() {
        let mut places = Places::default();
        for us in 1..=1000 {
            places.record(0, b"/a", &ended(us, 200));
        }
        places.record(3, b"/a", &ended(5, 404));
        places.record(3, b"/a", &ended(5, 500));
        let mut report = places.report();
        report.sort_by_key(|place| place.host);
        let [first, second] = &report[..] else {
            panic!("two places: {report:?}");
        };
        assert_eq!(
            (first.requests, first.bytes, first.cache_hits),
            (1000, 10_000, 1000)
        );
        assert!((500..=640).contains(&first.p50_us), "{}", first.p50_us);
        assert!((990..=1280).contains(&first.p99_us), "{}", first.p99_us);
        assert_eq!((second.client_errors, second.server_errors), (1, 1));
    }

    #[test]
    fn buckets_are_in_order_and_none_is_beyond_the_last() {
        for index in 0..BUCKETS - 1 {
            assert_eq!(bucket(highest(index)), index);
            assert_eq!(bucket(highest(index) + 1), index + 1);
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn places_and_their_names_are_bounded() {
        let mut places = Places::default();
        for number in 0..MOST + 100 {
            places.record(0, format!("/{number}").as_bytes(), &ended(1, 200));
        }
        places.record(0, &[b'x'; 5000], &ended(1, 200));
        places.record(0, b"/5", &ended(1, 200));
        let report = places.report();
        assert_eq!(report.len(), MOST + 1);
        let requests = |name: &str| {
            report
                .iter()
                .find(|it| it.path == name)
                .map(|it| it.requests)
        };
        assert_eq!(requests("(other places)"), Some(101));
        assert_eq!(requests("/5"), Some(2));
    }
}

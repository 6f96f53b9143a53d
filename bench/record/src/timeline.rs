//! Counts throughput and latency over the run, in a bounded number of buckets.
//!
//! Buckets start at multiples of their width since 1970, not since the start of the run. The
//! timelines of several machines therefore have equal bucket borders and are added exactly. If
//! there are too many buckets, pairs of buckets are joined and the width doubles. A day therefore
//! takes no more memory than a minute. A request belongs to the bucket in which it ends.

use serde::{Deserialize, Serialize};

use crate::{wall_clock, Error, Latency};

/// The most buckets of a timeline.
pub const MAXIMUM_BUCKETS: usize = 300;
const FIRST_WIDTH_S: u64 = 1;

/// The end of one request.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub ended_unix_us: u64,
    /// The response time, measured from the intended start; `None` for a failed request.
    pub response_ns: Option<u64>,
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "AsRead")]
pub struct Timeline {
    pub bucket_seconds: u64,
    pub buckets: Vec<Bucket>,
}

/// One interval of `bucket_seconds`. A timeline holds only buckets in which a request ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    #[serde(rename = "start", with = "wall_clock")]
    pub start_unix_us: u64,
    pub completed: u64,
    pub failed: u64,
    pub bytes: u64,
    /// The response times of the completed requests.
    pub response: Latency,
}

impl Timeline {
    pub fn new() -> Timeline {
        Timeline {
            bucket_seconds: FIRST_WIDTH_S,
            buckets: Vec::new(),
        }
    }

    pub fn count(&mut self, event: Event) {
        let start = self.start_of(event.ended_unix_us);
        let bucket = self.bucket_at(start);
        match event.response_ns {
            Some(ns) => {
                bucket.completed += 1;
                bucket.response.count(ns);
            }
            None => bucket.failed += 1,
        }
        bucket.bytes += event.bytes;
        if self.buckets.len() > MAXIMUM_BUCKETS {
            self.coarsen();
        }
    }

    /// Adds the timeline of another machine or thread.
    ///
    /// # Errors
    /// [`Error::Unmergeable`] if the histograms differ in range or precision.
    pub fn add(&mut self, other: &Timeline) -> Result<(), Error> {
        while self.bucket_seconds < other.bucket_seconds {
            self.coarsen();
        }
        for bucket in &other.buckets {
            let start = self.start_of(bucket.start_unix_us);
            self.bucket_at(start).add(bucket)?;
        }
        while self.buckets.len() > MAXIMUM_BUCKETS {
            self.coarsen();
        }
        Ok(())
    }

    fn start_of(&self, unix_us: u64) -> u64 {
        unix_us - unix_us % (self.bucket_seconds * 1_000_000)
    }

    /// Returns the bucket with this start. It is nearly always the last bucket, because events come
    /// in order.
    fn bucket_at(&mut self, start: u64) -> &mut Bucket {
        let place = match self.buckets.last() {
            Some(last) if last.start_unix_us == start => self.buckets.len() - 1,
            _ => {
                let place = self
                    .buckets
                    .partition_point(|bucket| bucket.start_unix_us < start);
                if self
                    .buckets
                    .get(place)
                    .is_none_or(|bucket| bucket.start_unix_us != start)
                {
                    self.buckets.insert(place, Bucket::new(start));
                }
                place
            }
        };
        &mut self.buckets[place]
    }

    /// Joins pairs of buckets.
    pub(crate) fn coarsen(&mut self) {
        self.bucket_seconds *= 2;
        let fine = std::mem::take(&mut self.buckets);
        for bucket in fine {
            let start = self.start_of(bucket.start_unix_us);
            let same_shape = self.bucket_at(start).add(&bucket);
            same_shape.expect("buckets of one timeline have one shape");
        }
    }
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline::new()
    }
}

impl Bucket {
    fn new(start_unix_us: u64) -> Bucket {
        Bucket {
            start_unix_us,
            completed: 0,
            failed: 0,
            bytes: 0,
            response: Latency::small(),
        }
    }

    fn add(&mut self, other: &Bucket) -> Result<(), Error> {
        self.completed += other.completed;
        self.failed += other.failed;
        self.bytes += other.bytes;
        self.response.add(&other.response)
    }
}

/// A timeline as read from a file, before the check of its width and order.
#[derive(Deserialize)]
struct AsRead {
    bucket_seconds: u64,
    buckets: Vec<Bucket>,
}

impl TryFrom<AsRead> for Timeline {
    type Error = String;

    fn try_from(read: AsRead) -> Result<Timeline, String> {
        let width_us = read.bucket_seconds.saturating_mul(1_000_000);
        if !read.bucket_seconds.is_power_of_two() || read.bucket_seconds > 1 << 30 {
            return Err("`bucket_seconds` must be 1, 2, 4, 8, ...".into());
        }
        let starts = || read.buckets.iter().map(|bucket| bucket.start_unix_us);
        let ordered = starts().zip(starts().skip(1)).all(|(a, b)| a < b);
        if !ordered || starts().any(|start| start % width_us != 0) {
            return Err("`buckets` must start on multiples of their width, in order".into());
        }
        Ok(Timeline {
            bucket_seconds: read.bucket_seconds,
            buckets: read.buckets,
        })
    }
}

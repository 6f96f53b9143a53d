//! The record of one run: the file that `mehari bench --json` writes and everything else reads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{wall_clock, Latency, Machine, Plan, Quantile, Timeline, Verdict};

/// The value of `format` by which a record is known.
pub const FORMAT: &str = "mehari-record";
/// Major and minor: a reader refuses another major version, and ignores fields of a later minor one.
pub const VERSION: &str = "1.2";

/// What was asked, what happened, and how far it can be trusted.
///
/// Of the counts and histograms only requests whose intended start lay in the measured time
/// (after the warm-up) are part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub format: String,
    pub version: String,
    /// Of the measured time, warm-up excluded.
    #[serde(rename = "started", with = "wall_clock")]
    pub started_unix_us: u64,
    pub plan: Plan,
    /// The `Server:` header of the first answer.
    #[serde(default)]
    pub server: String,
    /// The generators: one, or more in a merged record.
    pub machines: Vec<Machine>,
    pub durations: Durations,
    pub counts: Counts,
    /// Of completed requests, from the intended start to the last byte.
    pub response: Latency,
    /// Of completed requests, from the first byte written to the last byte read.
    pub service: Latency,
    /// The part of `response` whose status was 400 or more.
    #[serde(default)]
    pub response_of_errors: Latency,
    /// How long each failed or unfinished request was waited for, from its intended start.
    pub unended: Latency,
    /// From the start of connecting to readiness to write, TLS included.
    #[serde(default)]
    pub connect: Latency,
    /// From the first byte written to the first byte read.
    #[serde(default)]
    pub first_byte: Latency,
    pub lag: Lag,
    pub timeline: Timeline,
    pub verdict: Verdict,
}

/// Microseconds of wall time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Durations {
    pub warm_up_us: u64,
    /// The window rates are computed over.
    pub measured_us: u64,
    /// Waiting for the last answers after it.
    pub drain_us: u64,
}

/// `attempted = completed + the sum of failed + censored`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    pub attempted: u64,
    /// A whole answer came, whatever its status.
    pub completed: u64,
    /// No whole answer came, by class: `connect`, `timeout`, `reset`, `short body`, ...
    pub failed: BTreeMap<String, u64>,
    /// Still under way when the run ended.
    pub censored: u64,
    /// Completed requests by status; their sum is `completed`.
    pub statuses: BTreeMap<u16, u64>,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// The part of `bytes_received` that was bodies.
    pub body_bytes_received: u64,
    /// Connections opened.
    pub connections: u64,
}

/// Why requests began later than intended: the first two add up to the lag of each request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lag {
    /// Every permitted connection was busy: the server's doing, part of its response time.
    pub connections_busy: Latency,
    /// A connection was free and the generator was late: it speaks against the measurement.
    pub generator_late: Latency,
    /// An answer had come and the generator was late to read it. In no time of the record, which counts
    /// by the kernel's stamps; in a closed loop the next request began so much later.
    #[serde(default)]
    pub read_late: Latency,
}

impl Record {
    /// An empty record of a run that started at `started_unix_us` on `machine`.
    pub fn new(plan: Plan, machine: Machine, started_unix_us: u64) -> Record {
        Record {
            format: FORMAT.to_owned(),
            version: VERSION.to_owned(),
            started_unix_us,
            plan,
            server: String::new(),
            machines: vec![machine],
            durations: Durations::default(),
            counts: Counts::default(),
            response: Latency::new(),
            service: Latency::new(),
            response_of_errors: Latency::new(),
            unended: Latency::new(),
            connect: Latency::new(),
            first_byte: Latency::new(),
            lag: Lag::default(),
            timeline: Timeline::new(),
            verdict: Verdict::default(),
        }
    }

    /// Completed requests with a status below 400, a second. Zero for a run that took no time.
    pub fn throughput(&self) -> f64 {
        let good = self.counts.completed - self.counts.error_statuses().min(self.counts.completed);
        rate(good, self.durations.measured_us)
    }

    /// The response time at `percentile`, unended requests counted as at least what they waited.
    pub fn quantile(&self, percentile: f64) -> Quantile {
        self.response.quantile(percentile, &self.unended)
    }
}

impl Counts {
    /// Requests that got no whole answer.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Completed requests whose status was 400 or more.
    pub fn error_statuses(&self) -> u64 {
        self.statuses.range(400..).map(|(_, count)| count).sum()
    }

    pub fn fail(&mut self, class: &str) {
        match self.failed.get_mut(class) {
            Some(count) => *count += 1,
            None => drop(self.failed.insert(class.to_owned(), 1)),
        }
    }
}

fn rate(count: u64, us: u64) -> f64 {
    match us {
        0 => 0.0,
        us => count as f64 * 1e6 / us as f64,
    }
}

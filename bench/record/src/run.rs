//! The record of one run: `mehari bench --json` writes this file, and the other commands read it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{wall_clock, Latency, Machine, Plan, Quantile, Timeline, Verdict};

/// The value of `format` that identifies a record.
pub const FORMAT: &str = "mehari-record";
/// Major and minor version. A reader refuses another major version and ignores the fields of a
/// later minor version.
pub const VERSION: &str = "1.2";

/// A record: the plan, the results, and the verdict.
///
/// Counts and histograms cover only requests whose intended start lies in the measured time, after
/// the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub format: String,
    pub version: String,
    /// The start of the measured time, after the warm-up.
    #[serde(rename = "started", with = "wall_clock")]
    pub started_unix_us: u64,
    pub plan: Plan,
    /// The `Server:` header of the first answer.
    #[serde(default)]
    pub server: String,
    /// The generators: several in a merged record.
    pub machines: Vec<Machine>,
    pub durations: Durations,
    pub counts: Counts,
    /// Completed requests, from the intended start to the last byte.
    pub response: Latency,
    /// Completed requests, from the first byte written to the last byte read.
    pub service: Latency,
    /// The part of `response` whose status was 400 or more.
    #[serde(default)]
    pub response_of_errors: Latency,
    /// The waiting time of each failed or unfinished request, from its intended start.
    pub unended: Latency,
    /// From the start of connecting to readiness for writing, including TLS.
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
    /// The window of the rates.
    pub measured_us: u64,
    /// The wait for the last answers after the measured time.
    pub drain_us: u64,
}

/// `attempted = completed + the sum of failed + censored`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    pub attempted: u64,
    /// Requests with a whole answer, regardless of its status.
    pub completed: u64,
    /// Requests without a whole answer by class: `connect`, `timeout`, `reset`, `short body`, ...
    pub failed: BTreeMap<String, u64>,
    /// Requests under way when the run ended.
    pub censored: u64,
    /// Completed requests by status. Their sum is `completed`.
    pub statuses: BTreeMap<u16, u64>,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// The bytes of bodies within `bytes_received`.
    pub body_bytes_received: u64,
    /// Connections opened.
    pub connections: u64,
}

/// Why requests started later than intended. The first two fields add up to the delay of each
/// request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lag {
    /// All permitted connections were busy. The server causes this delay, and the response time
    /// includes it.
    pub connections_busy: Latency,
    /// A connection was free and the generator was late. This delay speaks against the measurement.
    pub generator_late: Latency,
    /// An answer had arrived and the generator read it late. The times of the record use the
    /// kernel's stamps and do not include this delay. In a closed loop the next request started
    /// that much later.
    #[serde(default)]
    pub read_late: Latency,
}

impl Record {
    /// Returns an empty record of a run that started at `started_unix_us` on `machine`.
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

    /// Completed requests per second with a status below 400. Zero for a run without duration.
    pub fn throughput(&self) -> f64 {
        let good = self.counts.completed - self.counts.error_statuses().min(self.counts.completed);
        rate(good, self.durations.measured_us)
    }

    /// Returns the response time at `percentile`. An unended request counts with at least its
    /// waiting time.
    pub fn quantile(&self, percentile: f64) -> Quantile {
        self.response.quantile(percentile, &self.unended)
    }
}

impl Counts {
    /// Requests without a whole answer.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Completed requests with a status of 400 or more.
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

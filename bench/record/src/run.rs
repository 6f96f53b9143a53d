//! Defines the record of one run. `mehari bench -o FILE` saves the record, and other commands read
//! the file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{wall_clock, Latency, Machine, Plan, Quantile, Timeline, Verdict};

/// The value of `format` that identifies a record.
pub const FORMAT: &str = "mehari-record";
/// The version of the format: major and minor. A reader refuses another major version. A reader
/// ignores the unknown fields of a later minor version.
pub const VERSION: &str = "1.2";

/// The shortest wait for the last answers that shows an overload. The last answer of a run always
/// takes some time.
const LEAST_DRAIN_US: u64 = 50_000;

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
    /// The machines of the generators. A merged record has several machines.
    pub machines: Vec<Machine>,
    pub durations: Durations,
    pub counts: Counts,
    /// The response times of completed requests: from the intended start to the last byte.
    pub response: Latency,
    /// The service times of completed requests: from the first byte written to the last byte read.
    pub service: Latency,
    /// The response times of the completed requests with a status of 400 or more. `response`
    /// includes these times.
    #[serde(default)]
    pub response_of_errors: Latency,
    /// The waiting time of each failed or unfinished request, from its intended start.
    pub unended: Latency,
    /// The times of connecting: from the start until the connection is ready for writing, including
    /// TLS.
    #[serde(default)]
    pub connect: Latency,
    /// The times from the first byte written to the first byte read.
    #[serde(default)]
    pub first_byte: Latency,
    pub lag: Lag,
    pub timeline: Timeline,
    pub verdict: Verdict,
}

/// The times of a run in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Durations {
    pub warm_up_us: u64,
    /// The measured time. Rates are computed over this time; see [`Record::took_us`].
    pub measured_us: u64,
    /// The wait for the last answers after the measured time.
    pub drain_us: u64,
}

/// The counts of a run. `attempted` is the sum of `completed`, all values of `failed`, and
/// `censored`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    pub attempted: u64,
    /// Requests with a whole answer, regardless of its status.
    pub completed: u64,
    /// Requests without a whole answer, by failure class: `connect`, `timeout`, `reset`, `short
    /// body`, ...
    pub failed: BTreeMap<String, u64>,
    /// Requests that were under way when the run ended.
    pub censored: u64,
    /// Completed requests by status. The sum of the values is `completed`.
    pub statuses: BTreeMap<u16, u64>,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// The bytes of bodies within `bytes_received`.
    pub body_bytes_received: u64,
    /// The number of opened connections.
    pub connections: u64,
}

/// Why requests started later than intended, and how late answers were read. The first two delays
/// of a request add up to the delay of its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lag {
    /// The delays because all permitted connections were busy. The server causes them, and the
    /// response time includes them.
    pub connections_busy: Latency,
    /// The delays of the generator although a connection was free. Long delays make the measurement
    /// less credible.
    pub generator_late: Latency,
    /// The delays between the arrival of an answer and its reading by the generator. The record's
    /// times use the kernel's stamps, so they do not include these delays. In a closed loop the
    /// next request starts that much later.
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

    /// Returns the completed requests per second with a status below 400. Zero for a run without
    /// duration.
    pub fn throughput(&self) -> f64 {
        let good = self.counts.completed - self.counts.error_statuses().min(self.counts.completed);
        rate(good, self.took_us())
    }

    /// Returns the answers per second, regardless of their status.
    pub fn answer_rate(&self) -> f64 {
        rate(self.counts.completed, self.took_us())
    }

    /// Whether the server fell behind the arrivals of an open loop: it went on answering after the
    /// measured time.
    pub fn is_overloaded(&self) -> bool {
        let Durations {
            measured_us,
            drain_us,
            ..
        } = self.durations;
        self.plan.schedule == "open" && drain_us > measured_us / 100 + LEAST_DRAIN_US
    }

    /// Returns the time over which rates count. The answers of an overloaded open loop come in the
    /// measured time and in the time of the wait for the last answers.
    pub fn took_us(&self) -> u64 {
        let waited = self.durations.drain_us * u64::from(self.is_overloaded());
        self.durations.measured_us + waited
    }

    /// Returns the response time at `percentile`. Requests that never ended count as longer than
    /// all others.
    pub fn quantile(&self, percentile: f64) -> Quantile {
        self.response.quantile(percentile, &self.unended)
    }
}

impl Counts {
    /// Returns the number of requests without a whole answer.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Returns the number of completed requests with a status of 400 or more.
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

//! Reacts to the engine's events as http_load does. A fetch is one connection with one request.

use super::options::Options;
use crate::console::Console;
use crate::number::general;
use mehari_load::{
    Closed, ConnectTimes, Failure, FailureKind, Moment, ObservedExchange, Observer, Sample,
};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Seconds between the progress lines of `-verbose`.
const PROGRESS: f64 = 60.0;

/// Count, sum and extremes of a time in milliseconds.
#[derive(Debug, Default, Clone, Copy)]
pub struct Spread {
    pub count: u64,
    pub total: f64,
    pub max: f64,
    pub min: f64,
}

impl Spread {
    fn add(&mut self, nanoseconds: u64) {
        let value = nanoseconds as f64 / 1e6;
        self.min = if self.count == 0 {
            value
        } else {
            self.min.min(value)
        };
        self.max = self.max.max(value);
        self.total += value;
        self.count += 1;
    }
}

#[derive(Debug, Default)]
pub struct Measured {
    pub fetches: u64,
    pub most_parallel: u64,
    /// Bytes of bodies.
    pub bytes: u64,
    pub elapsed: f64,
    pub connects: Spread,
    pub responses: Spread,
    pub timeouts: u64,
    pub bad_checksums: u64,
    pub bad_byte_counts: u64,
    pub codes: BTreeMap<u16, u64>,
}

/// The result of a URL's first fetch.
#[derive(Clone, Copy, Default)]
struct First {
    bytes: Option<u64>,
    checksum: Option<u64>,
}

pub struct Tally {
    options: Arc<Options>,
    console: Console,
    urls: Vec<String>,
    firsts: Vec<First>,
    pub measured: Measured,
    /// The checksums of the unfinished bodies, by connection.
    sums: BTreeMap<u64, DefaultHasher>,
    started: u64,
    open: u64,
    next_progress: f64,
}

impl Tally {
    pub fn new(options: Arc<Options>, console: Console, urls: Vec<String>) -> Tally {
        Tally {
            options,
            console,
            firsts: vec![First::default(); urls.len()],
            urls,
            measured: Measured::default(),
            sums: BTreeMap::new(),
            started: 0,
            open: 0,
            next_progress: PROGRESS,
        }
    }

    fn say(&self, url: usize, what: &str) {
        let url = self.urls.get(url).map_or("", String::as_str);
        self.console.err(format!("{url}: {what}\n"));
    }

    fn add_times(&mut self, connect: Option<ConnectTimes>, written: Moment, first_byte: Moment) {
        let secured = connect.filter(|times| times.secured > times.begun);
        if let Some(times) = secured {
            self.measured.connects.add(times.secured.since(times.begun));
        }
        if first_byte != Moment::NEVER && written != Moment::NEVER {
            self.measured.responses.add(first_byte.since(written));
        }
    }

    /// Compares the fetch with the first fetch of this URL.
    fn check(&mut self, url: usize, connection: u64, bytes: u64) {
        let sum = self.sums.remove(&connection).map(|sum| sum.finish());
        let Some(first) = self.firsts.get_mut(url) else {
            return;
        };
        if self.options.checksum {
            let sum = sum.unwrap_or(0);
            if *first.checksum.get_or_insert(sum) != sum {
                self.measured.bad_checksums += 1;
                self.say(url, "checksum wrong");
            }
        } else if *first.bytes.get_or_insert(bytes) != bytes {
            self.measured.bad_byte_counts += 1;
            self.say(url, "byte count wrong");
        }
    }

    /// Counts and reports a failure. Unlike Mehari, http_load counts a failed fetch as a fetch and
    /// does not report a broken connection.
    fn tell_failure(&mut self, failure: &Failure) {
        if self.options.bug_compatible {
            self.measured.fetches += 1;
        }
        let reason = failure
            .system_error
            .map(|code| crate::reason(&std::io::Error::from_raw_os_error(code)));
        match (failure.kind, reason) {
            (FailureKind::TimeOut, _) => {
                self.measured.timeouts += 1;
                self.say(failure.request, "timed out");
            }
            (
                FailureKind::Connect | FailureKind::NoPort | FailureKind::NoDescriptor,
                Some(text),
            ) => {
                self.say(failure.request, &text);
            }
            _ if self.options.bug_compatible => {}
            (FailureKind::Reset, None) => {
                self.say(failure.request, "closed without a response");
            }
            (_, Some(text)) => self.say(failure.request, &text),
            (kind, None) => self.say(failure.request, kind.name()),
        }
    }
}

impl Observer for Tally {
    fn connecting(&mut self, _connection: u64, _at: Moment) {
        self.started += 1;
        self.open += 1;
        self.measured.most_parallel = self.measured.most_parallel.max(self.open);
    }

    fn head(&mut self, exchange: &ObservedExchange, _head: &[u8]) {
        *self.measured.codes.entry(exchange.status).or_default() += 1;
    }

    fn body(&mut self, exchange: &ObservedExchange, piece: &[u8]) {
        if self.options.checksum {
            let sum = self.sums.entry(exchange.connection).or_default();
            // Each byte is hashed alone, so the checksum does not depend on the sizes of the
            // pieces.
            piece.iter().for_each(|byte| byte.hash(sum));
        }
    }

    fn completed(&mut self, sample: &Sample) {
        self.measured.fetches += 1;
        self.measured.bytes += sample.body_bytes;
        self.add_times(sample.connect, sample.written, sample.first_byte);
        self.check(sample.request, sample.connection, sample.body_bytes);
    }

    fn failed(&mut self, failure: &Failure) {
        self.sums.remove(&failure.connection);
        if failure.kind == FailureKind::Unfinished {
            return;
        }
        self.measured.bytes += failure.body_bytes;
        if failure.written != Moment::NEVER {
            self.add_times(failure.connect, failure.written, failure.first_byte);
        }
        self.tell_failure(failure);
    }

    fn closed(&mut self, _closed: &Closed) {
        self.open = self.open.saturating_sub(1);
    }

    fn tick(&mut self, now: Moment) {
        if self.options.verbose && now.seconds() >= self.next_progress {
            self.next_progress += PROGRESS;
            self.console.err(format!(
                "--- {} secs, {} fetches started, {} completed, {} current\n",
                general(now.seconds()),
                self.started,
                self.measured.fetches,
                self.open
            ));
        }
    }
}

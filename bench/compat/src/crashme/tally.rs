//! Counts what crashme reports: answers with a 2xx status, the reasons of other results, and the
//! time of each answer.

use mehari_load::{Failure, FailureKind, Moment, ObservedExchange, Observer, Sample};
use std::collections::{BTreeMap, HashMap};

#[derive(Debug, Default)]
pub struct Measured {
    pub succeeded: u64,
    /// The number of errors by reason: a reason phrase, the system's message, or `TIMEOUT`.
    pub errors: BTreeMap<String, u64>,
    pub elapsed: f64,
    /// Seconds from the connect to the end of the answer, summed over all answers.
    pub latency_sum: f64,
    pub latencies: u64,
}

pub struct Tally {
    pub measured: Measured,
    /// Whether the clock starts when the connection is made, as in the script.
    from_connected: bool,
    phrases: HashMap<u64, String>,
}

impl Tally {
    pub fn new(from_connected: bool) -> Tally {
        Tally {
            measured: Measured::default(),
            from_connected,
            phrases: HashMap::new(),
        }
    }

    fn error(&mut self, message: String) {
        *self.measured.errors.entry(message).or_default() += 1;
    }
}

impl Observer for Tally {
    fn head(&mut self, exchange: &ObservedExchange, head: &[u8]) {
        if !(200..300).contains(&exchange.status) {
            self.phrases
                .insert(exchange.connection, phrase(head, exchange.status));
        }
    }

    fn completed(&mut self, sample: &Sample) {
        let start = match sample.connect {
            Some(times) if self.from_connected => times.secured,
            Some(times) => times.begun,
            None => sample.begun,
        };
        self.measured.latency_sum += sample.done.since(start) as f64 / 1e9;
        self.measured.latencies += 1;
        match self.phrases.remove(&sample.connection) {
            None => self.measured.succeeded += 1,
            Some(phrase) => self.error(phrase),
        }
    }

    fn failed(&mut self, failure: &Failure) {
        self.phrases.remove(&failure.connection);
        let message = match (failure.kind, failure.system_error) {
            (FailureKind::Unfinished, _) => return,
            (FailureKind::TimeOut, _) => "TIMEOUT".into(),
            (_, Some(code)) => crate::reason(&std::io::Error::from_raw_os_error(code)),
            (FailureKind::Reset, None) => "Closed without a response".into(),
            (kind, None) => kind.name().into(),
        };
        if self.from_connected && failure.at != Moment::NEVER {
            let connected = failure.connect.filter(|times| times.secured > times.begun);
            if let (Some(times), false) = (connected, failure.kind == FailureKind::TimeOut) {
                self.measured.latency_sum += failure.at.since(times.secured) as f64 / 1e9;
            }
        }
        self.error(message);
    }
}

/// Returns the reason phrase of the status line, or the status as text if there is no phrase.
fn phrase(head: &[u8], status: u16) -> String {
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
    match line.splitn(3, ' ').nth(2) {
        Some(words) if !words.is_empty() => words.into(),
        _ => status.to_string(),
    }
}

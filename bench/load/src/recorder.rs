//! Implements the observer of the native commands. It collects the figures of a record in constant
//! memory.

use std::collections::BTreeMap;
use std::fmt;
use std::time::SystemTime;

use mehari_record::{Event, Latency, Timeline};

use crate::moment::Moment;
use crate::observe::{
    Connected, Failure, FailureKind, ObservedExchange, Observer, Sample, SessionEnd,
};

/// One thread's part of a record. Requests whose intended start lies in the warm-up are left out.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// The response times of answered requests: from the intended start to the last byte.
    pub response: Latency,
    /// The service times of answered requests: from the first byte written to the last byte
    /// received.
    pub service: Latency,
    pub response_of_errors: Latency,
    /// The waiting times of failed and unfinished requests.
    pub unended: Latency,
    pub connect: Latency,
    pub first_byte: Latency,
    pub busy: Lags,
    pub late: Lags,
    pub read_late: Lags,
    pub timeline: Timeline,
    /// The number of answers for each status from 0 to 999.
    pub statuses: Vec<u64>,
    pub failures: [u64; FailureKind::ALL.len()],
    pub completed: u64,
    pub sent_bytes: u64,
    pub received_bytes: u64,
    pub body_bytes: u64,
    pub connections: u64,
    pub sessions: u64,
    pub sessions_incomplete: u64,
    /// The end of the last measured request.
    pub last_done: Moment,
    /// How many requests started before `window_end`, and how many were answered before it.
    pub begun_in_window: u64,
    pub done_in_window: u64,
    /// The first reason of each failure class in words.
    pub troubles: BTreeMap<FailureKind, String>,
    /// The value of the first `Server` field.
    pub server: String,
    window_end: Moment,
    origin_unix_us: u64,
}

/// The delays of one kind. Most delays are zero, so zeros are counted apart and joined at the end.
#[derive(Clone, Debug, Default)]
pub struct Lags {
    some: Latency,
    none: u64,
}

impl Lags {
    fn count(&mut self, nanoseconds: u64) {
        match nanoseconds {
            0 => self.none += 1,
            lag => self.some.count(lag),
        }
    }

    /// Returns all delays. A delay of zero counts as 1 ns.
    pub fn latency(&self) -> Latency {
        let mut all = self.some.clone();
        all.saturating_record_n(1, self.none);
        all
    }
}

impl Recorder {
    /// Returns an empty recorder. A request that ends after `window_end` does not count as answered
    /// within the measured time.
    pub fn new(window_end: Moment) -> Recorder {
        Recorder {
            response: Latency::new(),
            service: Latency::new(),
            response_of_errors: Latency::new(),
            unended: Latency::new(),
            connect: Latency::new(),
            first_byte: Latency::new(),
            busy: Lags::default(),
            late: Lags::default(),
            read_late: Lags::default(),
            timeline: Timeline::new(),
            statuses: vec![0; 1000],
            failures: [0; FailureKind::ALL.len()],
            completed: 0,
            sent_bytes: 0,
            received_bytes: 0,
            body_bytes: 0,
            connections: 0,
            sessions: 0,
            sessions_incomplete: 0,
            last_done: Moment::ZERO,
            begun_in_window: 0,
            done_in_window: 0,
            troubles: BTreeMap::new(),
            server: String::new(),
            window_end,
            origin_unix_us: 0,
        }
    }

    fn event(&mut self, at: Moment, response_ns: Option<u64>, bytes: u64) {
        self.last_done = self.last_done.max(at);
        let ended_unix_us = self.origin_unix_us + at.0 / 1000;
        self.timeline.count(Event {
            ended_unix_us,
            response_ns,
            bytes,
        });
    }
}

impl Observer for Recorder {
    const WRITE_TIMES: bool = false;
    const TLS_FACTS: bool = false;

    fn begins(&mut self, origin: SystemTime) {
        let since = origin
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        self.origin_unix_us = since.as_micros() as u64;
    }

    fn connected(&mut self, connected: &Connected<'_>) {
        self.connections += 1;
        self.connect
            .count(connected.times.secured.since(connected.times.begun));
    }

    fn wants_head(&self) -> bool {
        self.server.is_empty()
    }

    fn head(&mut self, _exchange: &ObservedExchange, head: &[u8]) {
        if self.server.is_empty() {
            self.server = server_field(head).unwrap_or_else(|| "-".into());
        }
    }

    fn completed(&mut self, sample: &Sample) {
        if !sample.measured {
            return;
        }
        let response = sample.response();
        self.completed += 1;
        self.response.count(response);
        self.service.count(sample.service());
        self.first_byte
            .count(sample.first_byte.since(sample.write_begun));
        self.busy.count(sample.busy_lag());
        self.late.count(sample.client_lag());
        self.read_late.count(sample.read_lag());
        self.statuses[usize::from(sample.status).min(999)] += 1;
        if sample.status >= 400 {
            self.response_of_errors.count(response);
        }
        let received = sample.head_bytes + sample.body_bytes + sample.framing_bytes;
        self.sent_bytes += sample.sent_bytes;
        self.received_bytes += received;
        self.body_bytes += sample.body_bytes;
        self.begun_in_window += u64::from(sample.begun < self.window_end);
        self.done_in_window += u64::from(sample.done < self.window_end);
        self.event(sample.done, Some(response), received);
    }

    fn failed(&mut self, failure: &Failure) {
        if !failure.measured {
            return;
        }
        let received = failure.head_bytes + failure.body_bytes + failure.framing_bytes;
        self.failures[failure.kind as usize] += 1;
        self.unended.count(failure.at.since(failure.intended));
        self.sent_bytes += failure.sent_bytes;
        self.received_bytes += received;
        self.body_bytes += failure.body_bytes;
        self.begun_in_window += u64::from(failure.begun < self.window_end);
        if failure.begun != Moment::NEVER {
            self.busy.count(failure.permitted.since(failure.intended));
            self.late.count(failure.begun.since(failure.permitted));
        }
        self.event(failure.at, None, received);
    }

    fn trouble(&mut self, kind: FailureKind, why: &dyn fmt::Display) {
        self.troubles.entry(kind).or_insert_with(|| why.to_string());
    }

    fn session_ended(&mut self, end: &SessionEnd) {
        self.sessions += u64::from(end.measured);
        self.sessions_incomplete += u64::from(end.measured && !end.complete);
    }
}

fn server_field(head: &[u8]) -> Option<String> {
    head.split(|byte| *byte == b'\n').find_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        line[..colon]
            .eq_ignore_ascii_case(b"server")
            .then(|| String::from_utf8_lossy(line[colon + 1..].trim_ascii()).into_owned())
    })
}

//! Reacts to the engine's events as httperf does: counts, samples rates every five seconds, and has
//! requests and replies printed.

use super::measured::{Measured, Series};
use super::options::Options;
use super::parse::ClientShare;
use super::printer::Printer;
use crate::console::Console;
use mehari_load::{
    Closed, Connected, Failure, FailureKind, Moment, ObservedExchange, Observer, Sample, SessionEnd,
};
use std::sync::Arc;
use std::time::Duration;

/// Seconds between httperf's samples of rates.
const INTERVAL: f64 = 5.0;

pub struct Tally {
    options: Arc<Options>,
    console: Console,
    printer: Option<Printer>,
    pub measured: Measured,
    open: u64,
    /// The number of connects since the last event of another kind.
    burst: u64,
    /// The serial number of the last failed connection. A broken connection makes all its calls
    /// fail, but httperf counts the connection once.
    last_failed: Option<u64>,
    other_told: bool,
    replies: Sampled,
    sessions: Sampled,
    next_sample: Moment,
    last_sample: Moment,
}

/// The number of events since the last sample.
#[derive(Default)]
struct Sampled(u64);

impl Sampled {
    fn take(&mut self, seconds: f64) -> f64 {
        std::mem::take(&mut self.0) as f64 / seconds
    }
}

/// The values of a reply for the counters. Times are in nanoseconds.
struct Reply {
    status: u16,
    response: u64,
    transfer: u64,
    head: u64,
    content: u64,
    footer: u64,
}

impl Tally {
    /// Returns an empty tally. `requests` holds the bytes of each request of the plan, for
    /// printing.
    pub fn new(options: Arc<Options>, console: Console, requests: Vec<Vec<u8>>) -> Tally {
        let ClientShare { number, clients } = options.client;
        let first = (number as f64 + 1.0) * INTERVAL / clients as f64;
        Tally {
            printer: Printer::wanted(&options, console.clone(), requests),
            measured: Measured::new(options.workload.is_sessions()),
            options,
            console,
            open: 0,
            burst: 0,
            last_failed: None,
            other_told: false,
            replies: Sampled::default(),
            sessions: Sampled::default(),
            next_sample: Moment::ZERO.after(Duration::from_secs_f64(first)),
            last_sample: Moment::ZERO,
        }
    }

    fn sample(&mut self, now: Moment) {
        let seconds = now.since(self.last_sample) as f64 / 1e9;
        let verbose = self.options.verbose > 0;
        let replies = self.replies.take(seconds);
        self.measured.reply_rates.add(replies);
        if verbose {
            self.console.out(format!("reply-rate = {replies:<8.1}\n"));
        }
        if let Some(measured) = &mut self.measured.sessions {
            let sessions = self.sessions.take(seconds);
            measured.rates.add(sessions);
            if verbose {
                self.console
                    .out(format!("session-rate = {sessions:<8.1}\n"));
            }
        }
        self.last_sample = now;
        self.next_sample = now.after(Duration::from_secs_f64(INTERVAL));
    }

    fn add_reply(&mut self, reply: Reply) {
        self.burst = 0;
        self.replies.0 += 1;
        let measured = &mut self.measured;
        measured.replies[usize::from(reply.status / 100).min(5)] += 1;
        measured.responses.add(seconds(reply.response));
        measured.transfers.add(seconds(reply.transfer));
        measured.head_bytes += reply.head;
        measured.content_bytes += reply.content;
        measured.footer_bytes += reply.footer;
    }

    /// Returns whether to count the failure as a reply. Unlike Mehari, httperf accepts a body that
    /// ends before its announced length.
    fn is_reply_to_httperf(&self, failure: &Failure) -> bool {
        self.options.bug_compatible
            && failure.kind == FailureKind::ShortBody
            && failure.system_error.is_none()
    }

    fn count_error(&mut self, failure: &Failure) {
        let errors = &mut self.measured.errors;
        match (failure.kind, failure.system_error) {
            (FailureKind::TimeOut, None) => errors.client_timeouts += 1,
            (FailureKind::TimeOut, Some(_)) | (_, Some(libc::ETIMEDOUT)) => {
                errors.socket_timeouts += 1;
            }
            (_, Some(libc::ECONNREFUSED)) => errors.refused += 1,
            (_, Some(libc::ENFILE)) => errors.table_full += 1,
            (FailureKind::NoDescriptor, _) => errors.no_descriptor += 1,
            // httperf counts these failures as unexpected errors (`other`).
            (FailureKind::NoPort, _) if !self.options.bug_compatible => errors.no_address += 1,
            (FailureKind::Reset | FailureKind::ShortBody, _) => errors.reset += 1,
            (_, code) => {
                errors.other += 1;
                if !std::mem::replace(&mut self.other_told, true) {
                    let code = code.unwrap_or(0);
                    self.console.err(format!(
                        "httperf: connection failed with unexpected error {code}\n"
                    ));
                }
            }
        }
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

impl Observer for Tally {
    fn connecting(&mut self, _connection: u64, _at: Moment) {
        self.burst += 1;
        let measured = &mut self.measured;
        measured.longest_connect_burst = measured.longest_connect_burst.max(self.burst);
        measured.connections += 1;
        self.open += 1;
        measured.most_connections = measured.most_connections.max(self.open);
    }

    fn connected(&mut self, connected: &Connected<'_>) {
        self.burst = 0;
        let times = connected.times;
        self.measured
            .connects
            .add(seconds(times.secured.since(times.begun)));
    }

    fn sent(&mut self, exchange: &ObservedExchange, bytes: u64) {
        self.measured.requests += 1;
        self.measured.bytes_sent += bytes;
        if let Some(printer) = &mut self.printer {
            printer.sent(exchange);
        }
    }

    fn head(&mut self, exchange: &ObservedExchange, head: &[u8]) {
        if let Some(printer) = &mut self.printer {
            printer.head(exchange, head);
        }
    }

    fn body(&mut self, exchange: &ObservedExchange, piece: &[u8]) {
        if let Some(printer) = &mut self.printer {
            printer.body(exchange, piece);
        }
    }

    fn completed(&mut self, sample: &Sample) {
        self.add_reply(Reply {
            status: sample.status,
            response: sample.first_byte.since(sample.write_begun),
            transfer: sample.done.since(sample.first_byte),
            head: sample.head_bytes,
            content: sample.body_bytes,
            footer: sample.framing_bytes,
        });
        if let Some(printer) = &mut self.printer {
            printer.completed(sample);
        }
    }

    fn failed(&mut self, failure: &Failure) {
        self.burst = 0;
        if failure.kind == FailureKind::Unfinished {
            return;
        }
        let had_connection = failure.connect.is_some() || failure.calls_before > 0;
        if had_connection && self.last_failed == Some(failure.connection) {
            return;
        }
        self.last_failed = had_connection.then_some(failure.connection);
        if self.is_reply_to_httperf(failure) {
            return self.add_reply(Reply {
                status: failure.status,
                response: failure.first_byte.since(failure.write_begun),
                transfer: failure.at.since(failure.first_byte),
                head: failure.head_bytes,
                content: failure.body_bytes,
                footer: failure.framing_bytes,
            });
        }
        self.count_error(failure);
    }

    fn closed(&mut self, closed: &Closed) {
        self.open = self.open.saturating_sub(1);
        if closed.answered > 0 {
            let lived = seconds(closed.at.since(closed.times.begun));
            self.measured.lifetimes.add(lived);
        }
    }

    fn session_ended(&mut self, end: &SessionEnd) {
        let Some(sessions) = &mut self.measured.sessions else {
            return;
        };
        let lived = seconds(end.at.since(end.intended));
        let times: &mut Series = if end.complete {
            &mut sessions.lifetimes
        } else {
            &mut sessions.failtimes
        };
        times.add(lived);
        sessions.connections += u64::from(end.connections);
        let length = end.calls_answered as usize;
        if sessions.lengths.len() <= length {
            sessions.lengths.resize(length + 1, 0);
        }
        sessions.lengths[length] += 1;
        self.sessions.0 += 1;
    }

    fn tick(&mut self, now: Moment) {
        if now >= self.next_sample {
            self.sample(now);
        }
    }
}

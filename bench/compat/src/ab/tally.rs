//! Reacts to the engine's events as ab does: counts, keeps times, prints the lines of `-v` and the
//! progress lines, and decides when to give up.

use super::abort::Abort;
use super::measured::{Measured, TlsLines};
use super::options::Options;
use super::times::{Arithmetic, Row, Times};
use crate::console::Console;
use mehari_load::{
    nanoseconds, ConnectTimes, Connected, Failure, FailureKind, Moment, ObservedExchange, Observer,
    Sample,
};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The size of ab's buffer for a head without its final NUL.
const SHOWN_AT_MOST: usize = 8191;

pub struct Tally {
    options: Arc<Options>,
    console: Console,
    pub measured: Measured,
    pub abort: Option<Abort>,
    /// Wall-clock time of the run's origin in microseconds since 1970.
    origin: u64,
    first: Option<Moment>,
    last: Moment,
    /// Whether the time of `-t` is over. The run then ends without the answers of the requests
    /// under way.
    time_is_up: bool,
    /// Whether the first complete response has set the document length.
    has_document: bool,
    /// The head of the present response, if `-v` prints heads.
    shown: Vec<u8>,
}

impl Tally {
    pub fn new(options: Arc<Options>, console: Console) -> Tally {
        let arithmetic = if options.bug_compatible {
            Arithmetic::AsAb
        } else {
            Arithmetic::Right
        };
        Tally {
            measured: Measured::new(Times::new(arithmetic, options.gnuplot.is_some())),
            options,
            console,
            abort: None,
            origin: 0,
            first: None,
            last: Moment::ZERO,
            time_is_up: false,
            has_document: false,
            shown: Vec::new(),
        }
    }

    /// Returns the seconds from the first connect to the last event.
    pub fn elapsed(&self) -> f64 {
        let first = self.first.unwrap_or(self.last);
        self.last.since(first) as f64 / 1e9
    }

    fn seen(&mut self, at: Moment) {
        self.last = self.last.max(at);
    }

    fn add_row(&mut self, begun: Moment, connect: Option<ConnectTimes>, end: Moment, waiting: u64) {
        let started = connect.map_or(begun, |times| times.begun);
        let connecting = connect.map_or(0, |times| times.secured.since(times.begun));
        self.measured.times.add(Row {
            started: self.origin + started.0 / 1000,
            connect: connecting / 1000,
            total: end.since(started) / 1000,
            waiting: waiting / 1000,
        });
        self.measured.complete += 1;
        if let Some(each) = self.options.progress {
            let complete = self.measured.complete;
            if complete.is_multiple_of(each) {
                self.console.err(format!("Completed {complete} requests\n"));
            }
        }
    }

    /// Compares a body's length with the document length, which is the length of the first body.
    fn check_length(&mut self, body_bytes: u64) {
        if !self.has_document {
            self.has_document = true;
            self.measured.document_length = body_bytes;
        } else if body_bytes != self.measured.document_length && !self.options.variable_length {
            self.measured.failures.length += 1;
            self.measured.failures.total += 1;
        }
    }

    /// For `-v`, prints the head and the part of the body that arrived together with the head.
    fn show(&mut self, piece: &[u8]) {
        let head = std::mem::take(&mut self.shown);
        let all = [&head, piece].concat();
        let end = all
            .iter()
            .position(|&byte| byte == 0)
            .unwrap_or(all.len())
            .min(SHOWN_AT_MOST);
        self.console
            .out([b"LOG: header received:\n", &all[..end], b"\n"].concat());
        let code = String::from_utf8_lossy(head.get(9..12).unwrap_or(b"500")).into_owned();
        if !code.starts_with('2') {
            self.console
                .out(format!("WARNING: Response code not 2xx ({code})\n"));
        } else if self.options.verbosity >= 3 {
            self.console.out(format!("LOG: Response code = {code}\n"));
        }
    }

    fn show_what_waits(&mut self) {
        if !self.shown.is_empty() {
            self.show(b"");
        }
    }

    fn abort(&mut self, abort: Abort) {
        self.abort.get_or_insert(abort);
    }

    /// Like ab, counts a request that ended without an answer as a complete request.
    fn complete_failed(&mut self, failure: &Failure) {
        self.measured.failures.total += 1;
        let waiting = match failure.first_byte {
            Moment::NEVER => 0,
            first => first.since(failure.written),
        };
        self.add_row(failure.begun, failure.connect, failure.at, waiting);
    }

    /// Handles a broken connection. Like ab, stops without `-r`.
    fn broken(&mut self, failure: &Failure, code: i32) {
        let abort = Abort::of_system("apr_socket_recv", code);
        if !self.options.receive_errors_allowed {
            self.abort(abort);
            return;
        }
        if self.options.verbosity >= 1 {
            self.console.err(abort.line());
        }
        match failure.kind {
            FailureKind::Connect => self.measured.failures.connect += 1,
            _ => self.measured.failures.receive += 1,
        }
        self.complete_failed(failure);
    }

    /// Handles a connection that the server closed without a byte. Unlike Mehari, ab takes this for
    /// an empty document.
    fn closed_without_answer(&mut self, failure: &Failure) {
        if self.options.bug_compatible {
            self.check_length(0);
            self.add_row(failure.begun, failure.connect, failure.at, 0);
            return;
        }
        self.measured.failures.receive += 1;
        self.complete_failed(failure);
    }

    /// Handles a connection that the server closed before the announced length of the body. Unlike
    /// Mehari, ab ignores the announced length.
    fn short_body(&mut self, failure: &Failure) {
        if self.options.bug_compatible {
            self.check_length(failure.body_bytes);
            let waiting = failure.first_byte.since(failure.written);
            self.add_row(failure.begun, failure.connect, failure.at, waiting);
            return;
        }
        self.measured.failures.length += 1;
        self.complete_failed(failure);
    }

    /// Handles a request that timed out. If no connection had an event meanwhile, ab's poll would
    /// time out, so the run stops with ab's message. Otherwise only this request has failed,
    /// but ab would wait for its answer for ever.
    fn timed_out(&mut self, failure: &Failure) {
        let idle = failure.at.since(self.last);
        if idle >= nanoseconds(self.options.timeout) * 9 / 10 {
            self.abort(Abort::poll_timed_out());
            return;
        }
        self.measured.failures.receive += 1;
        self.complete_failed(failure);
    }
}

impl Observer for Tally {
    fn begins(&mut self, origin: SystemTime) {
        let since_1970 = origin.duration_since(UNIX_EPOCH).unwrap_or_default();
        self.origin = since_1970.as_micros() as u64;
    }

    fn connecting(&mut self, _connection: u64, at: Moment) {
        self.first.get_or_insert(at);
        self.seen(at);
    }

    fn connected(&mut self, connected: &Connected<'_>) {
        self.seen(connected.times.secured);
        if let (None, Some(facts)) = (&self.measured.tls, connected.tls) {
            self.measured.tls = Some(TlsLines::of(facts));
        }
    }

    fn sent(&mut self, _exchange: &ObservedExchange, bytes: u64) {
        self.measured.bytes_written += bytes;
    }

    fn head(&mut self, exchange: &ObservedExchange, head: &[u8]) {
        if !self.has_document {
            self.measured.server_software = server_software(head);
        }
        if !(200..300).contains(&exchange.status) {
            self.measured.non_2xx += 1;
        }
        if self.options.verbosity >= 2 {
            self.show_what_waits();
            self.shown = head.to_vec();
        }
    }

    fn body(&mut self, _exchange: &ObservedExchange, piece: &[u8]) {
        if !self.shown.is_empty() {
            self.show(piece);
        }
    }

    fn completed(&mut self, sample: &Sample) {
        self.show_what_waits();
        self.seen(sample.done);
        self.measured.bytes_read += sample.head_bytes + sample.body_bytes + sample.framing_bytes;
        self.measured.body_bytes_read += sample.body_bytes;
        self.measured.kept_alive += u64::from(sample.kept_alive && self.options.keep_alive);
        self.check_length(sample.body_bytes);
        let waiting = sample.first_byte.since(sample.written);
        self.add_row(sample.begun, sample.connect, sample.done, waiting);
    }

    fn failed(&mut self, failure: &Failure) {
        self.show_what_waits();
        if failure.kind == FailureKind::Unfinished || self.abort.is_some() {
            return;
        }
        if failure.kind == FailureKind::TimeOut {
            self.timed_out(failure);
            self.seen(failure.at);
            return;
        }
        self.seen(failure.at);
        self.measured.bytes_read += failure.head_bytes + failure.body_bytes + failure.framing_bytes;
        self.measured.body_bytes_read += failure.body_bytes;
        match (failure.kind, failure.system_error) {
            (FailureKind::NoDescriptor, code) => {
                self.abort(Abort::of_system("socket", code.unwrap_or(libc::EMFILE)));
            }
            (FailureKind::NoPort, code) => {
                self.console.err("\nTest aborted after 10 failures\n\n");
                let code = code.unwrap_or(libc::EADDRNOTAVAIL);
                self.abort(Abort::of_system("apr_socket_connect()", code));
            }
            (FailureKind::Tls, _) => {
                self.console.err("SSL handshake failed (1).\n");
                self.closed_without_answer(failure);
            }
            (FailureKind::Connect | FailureKind::Other, Some(code)) => self.broken(failure, code),
            (FailureKind::Reset, Some(libc::EPIPE)) => {
                self.console.out("Send request failed!\n");
                self.measured.write_errors += 1;
                self.complete_failed(failure);
            }
            (FailureKind::Reset, Some(code)) => self.broken(failure, code),
            (FailureKind::ShortBody, None) => self.short_body(failure),
            (FailureKind::ShortBody, Some(code)) => self.broken(failure, code),
            (FailureKind::BadResponse, _) => {
                self.measured.failures.exceptions += 1;
                self.complete_failed(failure);
            }
            _ => self.closed_without_answer(failure),
        }
    }

    fn tick(&mut self, now: Moment) {
        let limit = self.options.time_limit.unwrap_or(i32::MAX).max(0);
        self.time_is_up = now >= Moment::ZERO.after(Duration::from_secs(limit as u64));
    }

    fn gives_up(&self) -> bool {
        self.abort.is_some() || self.time_is_up
    }
}

/// Returns the value of `Server:` up to its first blank or control character.
fn server_software(head: &[u8]) -> Vec<u8> {
    const NAME: &[u8] = b"server:";
    let line = head
        .split(|&byte| byte == b'\n')
        .find(|line| line.len() > NAME.len() && line[..NAME.len()].eq_ignore_ascii_case(NAME));
    let value = line.map_or(&b""[..], |line| line[NAME.len()..].trim_ascii_start());
    value
        .iter()
        .copied()
        .take_while(|&byte| byte > 32)
        .collect()
}

//! What the driver tells about each connection and request, and to whom.
//!
//! One observer per thread, called from the event loop without dynamic dispatch: what an observer
//! does not ask for costs nothing. Nothing here is kept by the driver; memory is the observer's choice.

use std::fmt;
use std::time::SystemTime;

use crate::moment::Moment;

/// How a connection came to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectTimes {
    pub begun: Moment,
    /// The TCP handshake was seen to be done.
    pub established: Moment,
    /// The TLS handshake was done; equal to `established` without TLS.
    pub secured: Moment,
}

/// The facts of a TLS connection, for reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFacts {
    pub version: String,
    pub cipher: String,
    pub key_exchange: String,
    /// Of the certificate's public key; 0 when not known.
    pub peer_key_bits: u32,
    pub cipher_bits: u32,
}

#[derive(Clone, Debug)]
pub struct Connected<'a> {
    /// Unique within the thread, counted from 0 in the order of opening.
    pub connection: u64,
    pub times: ConnectTimes,
    pub tls: Option<&'a TlsFacts>,
}

/// Which exchange a piece of a response belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    pub request: usize,
    pub connection: u64,
    pub intended: Moment,
    pub status: u16,
}

/// One answered request.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Index into the plan's requests.
    pub request: usize,
    pub connection: u64,
    /// How many requests this connection had carried before: 0 is its first.
    pub calls_before: u32,
    /// When the plan wanted it.
    pub intended: Moment,
    /// When the plan let it: later than `intended` by the wait for a free connection.
    pub permitted: Moment,
    /// When the driver took it up. `begun - permitted` is the generator's own lateness.
    pub begun: Moment,
    /// Present when the connection was opened for this request.
    pub connect: Option<ConnectTimes>,
    /// The first byte was handed to the kernel.
    pub write_begun: Moment,
    /// The last byte was handed to the kernel.
    pub written: Moment,
    /// When the first and the last byte came, by the kernel's stamps where there are some.
    pub first_byte: Moment,
    pub done: Moment,
    /// When the last byte was read: `read - done` is the generator's own lateness, in no time below.
    pub read: Moment,
    pub status: u16,
    pub sent_bytes: u64,
    pub head_bytes: u64,
    /// Content, without chunk framing.
    pub body_bytes: u64,
    /// What is neither head nor content: chunk framing and trailers.
    pub framing_bytes: u64,
    /// The connection stays open for further requests.
    pub kept_alive: bool,
    /// Intended after the warm-up.
    pub measured: bool,
}

impl Sample {
    /// Response time in nanoseconds: from the intended start to the last byte.
    pub fn response(&self) -> u64 {
        self.done.since(self.intended)
    }

    /// Service time in nanoseconds: from the first byte written to the last received.
    pub fn service(&self) -> u64 {
        self.done.since(self.write_begun)
    }

    /// Nanoseconds it waited because all permitted connections were busy.
    pub fn busy_lag(&self) -> u64 {
        self.permitted.since(self.intended)
    }

    /// Nanoseconds the whole answer lay in the kernel before it was read.
    pub fn read_lag(&self) -> u64 {
        self.read.since(self.done)
    }

    /// Nanoseconds the generator was late by its own fault.
    pub fn client_lag(&self) -> u64 {
        self.begun.since(self.permitted)
    }
}

/// One request that was planned and not answered.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    pub request: usize,
    pub connection: u64,
    pub calls_before: u32,
    pub intended: Moment,
    pub permitted: Moment,
    /// `NEVER` when it had not been taken up.
    pub begun: Moment,
    pub connect: Option<ConnectTimes>,
    /// `NEVER` when no byte was handed to the kernel.
    pub write_begun: Moment,
    /// `NEVER` when not all of it was.
    pub written: Moment,
    /// `NEVER` when none came.
    pub first_byte: Moment,
    pub at: Moment,
    pub kind: FailureKind,
    /// The system's error number, where there is one.
    pub system_error: Option<i32>,
    /// 0 when no head had come.
    pub status: u16,
    pub sent_bytes: u64,
    pub head_bytes: u64,
    pub body_bytes: u64,
    pub framing_bytes: u64,
    pub measured: bool,
}

/// Why a request was not answered; the classes are disjoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureKind {
    /// No connection came about: refused, unreachable.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// No answer within the time-out.
    TimeOut,
    /// The server reset the connection, or closed it before any byte of the response.
    Reset,
    /// The response ended before its announced length.
    ShortBody,
    /// What came is not HTTP.
    BadResponse,
    /// No local port or address was free.
    NoPort,
    /// No descriptor was free.
    NoDescriptor,
    /// Another error of the system.
    Other,
    /// Still under way when the run ended: not an error, but not an answer either.
    Unfinished,
}

impl FailureKind {
    pub const ALL: [FailureKind; 10] = [
        FailureKind::Connect,
        FailureKind::Tls,
        FailureKind::TimeOut,
        FailureKind::Reset,
        FailureKind::ShortBody,
        FailureKind::BadResponse,
        FailureKind::NoPort,
        FailureKind::NoDescriptor,
        FailureKind::Other,
        FailureKind::Unfinished,
    ];

    /// The words of reports and the keys of records.
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Connect => "connect",
            FailureKind::Tls => "tls",
            FailureKind::TimeOut => "time-out",
            FailureKind::Reset => "reset",
            FailureKind::ShortBody => "short body",
            FailureKind::BadResponse => "bad response",
            FailureKind::NoPort => "no port",
            FailureKind::NoDescriptor => "no descriptor",
            FailureKind::Other => "other",
            FailureKind::Unfinished => "unfinished",
        }
    }
}

/// The end of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Closed {
    pub connection: u64,
    pub times: ConnectTimes,
    pub at: Moment,
    /// Requests answered on it.
    pub answered: u32,
}

/// The end of one run of a session.
#[derive(Clone, Copy, Debug)]
pub struct SessionEnd {
    pub session: usize,
    pub intended: Moment,
    pub at: Moment,
    pub calls_answered: u32,
    pub calls_failed: u32,
    pub connections: u32,
    /// All bursts were played.
    pub complete: bool,
    pub measured: bool,
}

/// Receives everything, on its own thread. Only `completed` and `failed` must be written.
pub trait Observer: Send {
    /// Whether `written` is to be read from the clock after the write (20 ns), or may equal `write_begun`.
    const WRITE_TIMES: bool = true;

    /// Whether `connected` is to be told the facts of TLS.
    const TLS_FACTS: bool = true;

    /// Before the first request; `origin` is the wall-clock time of the moment zero.
    fn begins(&mut self, _origin: SystemTime) {}
    /// A connect was issued; a descriptor was available for it.
    fn connecting(&mut self, _connection: u64, _at: Moment) {}
    fn connected(&mut self, _connected: &Connected<'_>) {}
    /// The last byte of a request went out.
    fn sent(&mut self, _exchange: &Exchange, _bytes: u64) {}
    /// Whether `head` is to be called; asked only where a head costs something to make (HTTP/2).
    fn wants_head(&self) -> bool {
        true
    }
    /// The whole head of a final response, with its blank line.
    fn head(&mut self, _exchange: &Exchange, _head: &[u8]) {}
    /// A piece of content, without framing.
    fn body(&mut self, _exchange: &Exchange, _piece: &[u8]) {}
    fn completed(&mut self, sample: &Sample);
    fn failed(&mut self, failure: &Failure);
    /// In words, why something of this class failed; comes before the failures it caused.
    fn trouble(&mut self, _kind: FailureKind, _why: &dyn fmt::Display) {}
    fn closed(&mut self, _closed: &Closed) {}
    fn session_ended(&mut self, _end: &SessionEnd) {}
    /// Called about every `Plan::tick`, and once at the end.
    fn tick(&mut self, _now: Moment) {}
    /// Answer true to end the run now (ab gives up after ten failures).
    fn gives_up(&self) -> bool {
        false
    }
}

//! The interface between the driver and the observers of connections and requests.
//!
//! Each thread has one observer. The event loop calls the observer without dynamic dispatch, so
//! that unused callbacks cost nothing. The driver keeps nothing; the memory is the observer's
//! choice.

use std::fmt;
use std::time::SystemTime;

use crate::moment::Moment;

/// The moments of a connection's opening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectTimes {
    pub begun: Moment,
    /// The TCP handshake was found complete.
    pub established: Moment,
    /// The TLS handshake was complete; equal to `established` without TLS.
    pub secured: Moment,
}

/// The properties of a TLS connection, for reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFacts {
    pub version: String,
    pub cipher: String,
    pub key_exchange: String,
    /// Bits of the certificate's public key; 0 if not known.
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

/// The exchange of a piece of a response.
#[derive(Clone, Copy, Debug)]
pub struct ObservedExchange {
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
    /// Requests that this connection carried before.
    pub calls_before: u32,
    /// The planned start.
    pub intended: Moment,
    /// When the plan permitted the start. The wait for a free connection delays this moment after
    /// `intended`.
    pub permitted: Moment,
    /// When the driver started the request. `begun - permitted` is the generator's own delay.
    pub begun: Moment,
    /// Present if the connection was opened for this request.
    pub connect: Option<ConnectTimes>,
    /// When the kernel got the first byte.
    pub write_begun: Moment,
    /// When the kernel got the last byte.
    pub written: Moment,
    /// When the first and the last byte arrived, by the kernel's stamps if there are any.
    pub first_byte: Moment,
    pub done: Moment,
    /// When the last byte was read. `read - done` is the generator's own delay; no time below
    /// includes it.
    pub read: Moment,
    pub status: u16,
    pub sent_bytes: u64,
    pub head_bytes: u64,
    /// Bytes of content without chunk framing.
    pub body_bytes: u64,
    /// Bytes of chunk framing and trailers.
    pub framing_bytes: u64,
    /// The connection stays open for further requests.
    pub kept_alive: bool,
    /// The planned start lies after the warm-up.
    pub measured: bool,
}

impl Sample {
    /// Response time in nanoseconds: from the intended start to the last byte.
    pub fn response(&self) -> u64 {
        self.done.since(self.intended)
    }

    /// Service time in nanoseconds: from the first byte written to the last byte received.
    pub fn service(&self) -> u64 {
        self.done.since(self.write_begun)
    }

    /// Nanoseconds of waiting because all permitted connections were busy.
    pub fn busy_lag(&self) -> u64 {
        self.permitted.since(self.intended)
    }

    /// Nanoseconds that the complete answer waited in the kernel.
    pub fn read_lag(&self) -> u64 {
        self.read.since(self.done)
    }

    /// Nanoseconds of the generator's own delay.
    pub fn client_lag(&self) -> u64 {
        self.begun.since(self.permitted)
    }
}

/// A planned request without an answer.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    pub request: usize,
    pub connection: u64,
    pub calls_before: u32,
    pub intended: Moment,
    pub permitted: Moment,
    /// `NEVER` if the request was not started.
    pub begun: Moment,
    pub connect: Option<ConnectTimes>,
    /// `NEVER` if the kernel got no byte.
    pub write_begun: Moment,
    /// `NEVER` if the kernel did not get all bytes.
    pub written: Moment,
    /// `NEVER` if no byte arrived.
    pub first_byte: Moment,
    pub at: Moment,
    pub kind: FailureKind,
    /// The system's error number, if there is one.
    pub system_error: Option<i32>,
    /// 0 if no head arrived.
    pub status: u16,
    pub sent_bytes: u64,
    pub head_bytes: u64,
    pub body_bytes: u64,
    pub framing_bytes: u64,
    pub measured: bool,
}

/// Why a request was not answered. The classes are disjoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureKind {
    /// No connection was made: refused or unreachable.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// No answer came within the time-out.
    TimeOut,
    /// The server reset the connection, or closed it before any byte of the response.
    Reset,
    /// The response ended before its announced length.
    ShortBody,
    /// The bytes received are not HTTP.
    BadResponse,
    /// No local port or address was free.
    NoPort,
    /// No descriptor was free.
    NoDescriptor,
    /// Another error of the system.
    Other,
    /// The request was under way when the run ended: neither an error nor an answer.
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

    /// Returns the name in reports and records.
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
    /// Requests answered on this connection.
    pub answered: u32,
}

/// The end of one session run.
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

/// Receives all events of its own thread. An implementation must have `completed` and `failed`.
pub trait Observer: Send {
    /// Whether `written` comes from a clock read after the write (20 ns). Otherwise it may equal
    /// `write_begun`.
    const WRITE_TIMES: bool = true;

    /// Whether `connected` gets the properties of TLS.
    const TLS_FACTS: bool = true;

    /// Called before the first request. `origin` is the wall-clock time of the moment zero.
    fn begins(&mut self, _origin: SystemTime) {}
    /// Called when a connect was issued. A descriptor was available.
    fn connecting(&mut self, _connection: u64, _at: Moment) {}
    fn connected(&mut self, _connected: &Connected<'_>) {}
    /// The last byte of a request was sent.
    fn sent(&mut self, _exchange: &ObservedExchange, _bytes: u64) {}
    /// Returns whether `head` is called. Only HTTP/2 asks this, because making a head there costs
    /// time.
    fn wants_head(&self) -> bool {
        true
    }
    /// The whole head of a final response with its blank line.
    fn head(&mut self, _exchange: &ObservedExchange, _head: &[u8]) {}
    /// A piece of content without framing.
    fn body(&mut self, _exchange: &ObservedExchange, _piece: &[u8]) {}
    fn completed(&mut self, sample: &Sample);
    fn failed(&mut self, failure: &Failure);
    /// The reason of a failure in words, before the failures themselves.
    fn trouble(&mut self, _kind: FailureKind, _why: &dyn fmt::Display) {}
    fn closed(&mut self, _closed: &Closed) {}
    fn session_ended(&mut self, _end: &SessionEnd) {}
    /// Called about every `Plan::tick`, and once at the end.
    fn tick(&mut self, _now: Moment) {}
    /// Returns whether to end the run now. For example, ab gives up after ten failures.
    fn gives_up(&self) -> bool {
        false
    }
}

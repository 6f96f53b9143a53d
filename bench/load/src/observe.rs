//! Defines the interface between the driver and the observers of connections and requests.
//!
//! Each thread has one observer. The event loop calls the observer without dynamic dispatch, so
//! unused callbacks cost nothing. The driver stores no events; the observer decides which to store.

use std::fmt;
use std::time::SystemTime;

use crate::moment::Moment;

/// The moments of a connection's opening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectTimes {
    pub begun: Moment,
    /// When the driver found the TCP handshake complete.
    pub established: Moment,
    /// When the TLS handshake was complete; equal to `established` without TLS.
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

/// The exchange to which a sent request or a piece of a response belongs.
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
    /// The number of earlier requests on this connection.
    pub calls_before: u32,
    /// The planned start.
    pub intended: Moment,
    /// When a connection was free for the request, but no earlier than `intended`.
    pub permitted: Moment,
    /// When the driver started the request. `begun - permitted` is the generator's own delay.
    pub begun: Moment,
    /// The times of the connect, if the connection was opened for this request.
    pub connect: Option<ConnectTimes>,
    /// When the kernel got the first byte.
    pub write_begun: Moment,
    /// When the kernel got the last byte.
    pub written: Moment,
    /// When the first and the last byte arrived, by the kernel's stamps if there are any.
    pub first_byte: Moment,
    pub done: Moment,
    /// When the driver read the last byte. `read - done` is the generator's own delay. Neither the
    /// response time nor the service time includes this delay.
    pub read: Moment,
    pub status: u16,
    pub sent_bytes: u64,
    pub head_bytes: u64,
    /// Bytes of content without chunk framing.
    pub body_bytes: u64,
    /// Bytes of chunk framing and trailers.
    pub framing_bytes: u64,
    /// Whether the connection stays open for further requests.
    pub kept_alive: bool,
    /// Whether the planned start lies after the warm-up.
    pub measured: bool,
}

impl Sample {
    /// Returns the response time in nanoseconds: from the intended start to the last byte.
    pub fn response(&self) -> u64 {
        self.done.since(self.intended)
    }

    /// Returns the service time in nanoseconds: from the first byte written to the last byte
    /// received.
    pub fn service(&self) -> u64 {
        self.done.since(self.write_begun)
    }

    /// Returns the nanoseconds that the request waited because all connections were busy.
    pub fn busy_lag(&self) -> u64 {
        self.permitted.since(self.intended)
    }

    /// Returns the nanoseconds for which the complete answer waited in the kernel.
    pub fn read_lag(&self) -> u64 {
        self.read.since(self.done)
    }

    /// Returns the nanoseconds by which the driver started the request late.
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

/// The end of one visitor's session.
#[derive(Clone, Copy, Debug)]
pub struct SessionEnd {
    pub session: usize,
    pub intended: Moment,
    pub at: Moment,
    pub calls_answered: u32,
    pub calls_failed: u32,
    pub connections: u32,
    /// Whether all bursts were sent and answered.
    pub complete: bool,
    pub measured: bool,
}

/// Receives all events of one thread. An implementation must define `completed` and `failed`.
pub trait Observer: Send {
    /// Whether the driver reads the clock after each write to set `written`, which costs 20 ns.
    /// Otherwise `written` may equal `write_begun`.
    const WRITE_TIMES: bool = true;

    /// Whether `connected` receives the properties of the TLS connection.
    const TLS_FACTS: bool = true;

    /// Called before the first request. `origin` is the wall-clock time of the moment zero.
    fn begins(&mut self, _origin: SystemTime) {}
    /// Called after the driver has started a connect.
    fn connecting(&mut self, _connection: u64, _at: Moment) {}
    fn connected(&mut self, _connected: &Connected<'_>) {}
    /// Called when the last byte of a request was sent.
    fn sent(&mut self, _exchange: &ObservedExchange, _bytes: u64) {}
    /// Returns whether the driver shall call `head`. Only HTTP/2 connections ask, because they must
    /// first build the head from its HPACK block.
    fn wants_head(&self) -> bool {
        true
    }
    /// Called with the whole head of a final response, including its blank line.
    fn head(&mut self, _exchange: &ObservedExchange, _head: &[u8]) {}
    /// Called with a piece of the response's content, without framing.
    fn body(&mut self, _exchange: &ObservedExchange, _piece: &[u8]) {}
    fn completed(&mut self, sample: &Sample);
    fn failed(&mut self, failure: &Failure);
    /// Called with the reason of a failure in words, before `failed`.
    fn trouble(&mut self, _kind: FailureKind, _why: &dyn fmt::Display) {}
    fn closed(&mut self, _closed: &Closed) {}
    fn session_ended(&mut self, _end: &SessionEnd) {}
    /// Called about every `Plan::tick`, and once at the end.
    fn tick(&mut self, _now: Moment) {}
    /// Returns whether to end the run now. For example, ab and `mehari ab` give up after ten
    /// failures.
    fn gives_up(&self) -> bool {
        false
    }
}

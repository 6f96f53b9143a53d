//! The reasons why a request has no response from a back end.

use std::io;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("no back end is available")]
    NoBackEnd,
    #[error("too many requests are waiting for a back end")]
    QueueFull,
    #[error("no back end became free in time")]
    QueueTimedOut,
    #[error("the back end cannot be reached: {0}")]
    Unreachable(io::ErrorKind),
    #[error("the back end did not accept the connection in time")]
    ConnectTimedOut,
    #[error("the back end's certificate is not accepted: {0}")]
    Untrusted(&'static str),
    #[error("the TLS handshake with the back end failed")]
    Handshake,
    #[error("the connection to the back end broke: {0}")]
    Broken(io::ErrorKind),
    #[error("the back end closed the connection without an answer")]
    Closed,
    #[error("the back end ended within its response")]
    CutOff,
    #[error("the back end was silent for too long")]
    TimedOut,
    #[error("the back end sent an invalid response: {0}")]
    Malformed(&'static str),
    #[error("the back end is overloaded")]
    Overloaded,
    #[error("a temporary file of the request could not be read: {0}")]
    Body(io::ErrorKind),
}

impl Fault {
    /// Returns the status for the client.
    pub fn status(self) -> u16 {
        match self {
            Fault::NoBackEnd | Fault::QueueFull | Fault::QueueTimedOut | Fault::Overloaded => 503,
            // As in Apache, a back end to which there is no connection is unavailable.
            Fault::Unreachable(_) | Fault::ConnectTimedOut => 503,
            Fault::Broken(_) | Fault::Closed | Fault::CutOff => 502,
            Fault::Malformed(_) | Fault::Untrusted(_) | Fault::Handshake => 502,
            Fault::TimedOut => 504,
            Fault::Body(_) => 500,
        }
    }

    /// Returns the kind of the fault as a word, for traces.
    pub fn name(self) -> &'static str {
        match self {
            Fault::NoBackEnd => "no_back_end",
            Fault::QueueFull => "queue_full",
            Fault::QueueTimedOut => "queue_timeout",
            Fault::Unreachable(io::ErrorKind::ConnectionRefused) => "connection_refused",
            Fault::Unreachable(_) => "unreachable",
            Fault::ConnectTimedOut => "connect_timeout",
            Fault::Untrusted(_) => "certificate_invalid",
            Fault::Handshake => "tls_handshake",
            Fault::Broken(_) | Fault::Closed | Fault::CutOff => "connection_closed",
            Fault::TimedOut => "timeout",
            Fault::Malformed(_) => "invalid_response",
            Fault::Overloaded => "overloaded",
            Fault::Body(_) => "request_body",
        }
    }

    /// Returns whether waiting is useless, because a person must change something.
    pub fn is_lasting(self) -> bool {
        matches!(self, Fault::Untrusted(_) | Fault::Handshake)
    }
}

//! Describes a request that cannot be answered as requested: the status, the reason, and whether
//! the connection continues.
//!
//! The readers, the router and the handlers make problems. The front makes the response and the log
//! line from a problem. The reason is for the error log and never contains text of the client.

/// A refusal. With `closes` the connection closes, because later bytes on it may not be a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem {
    pub status: u16,
    pub reason: &'static str,
    pub closes: bool,
}

impl Problem {
    /// Makes a refusal of bytes that are not acceptable HTTP or exceed a limit. The connection
    /// closes.
    pub const fn malformed(status: u16, reason: &'static str) -> Problem {
        Problem {
            status,
            reason,
            closes: true,
        }
    }

    /// Makes a refusal of a well-formed request. The connection continues.
    pub const fn refused(status: u16, reason: &'static str) -> Problem {
        Problem {
            status,
            reason,
            closes: false,
        }
    }
}

/// Makes a refusal with the status 400, as for most problems of requests.
pub const fn bad(reason: &'static str) -> Problem {
    Problem::malformed(400, reason)
}

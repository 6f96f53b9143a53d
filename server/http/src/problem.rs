//! A request that cannot be answered as requested: its status, the reason, and whether its
//! connection continues.
//!
//! The readers, the router and the handlers make problems. `page` makes the response, and the
//! connection makes the log line. The reason is for the error log and never contains text of the
//! client.

/// A refusal. `closes`: later bytes on the connection may not be a request, so the connection
/// closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem {
    pub status: u16,
    pub reason: &'static str,
    pub closes: bool,
}

impl Problem {
    /// A refusal of bytes that are not acceptable HTTP or exceed a limit. The connection closes.
    pub const fn malformed(status: u16, reason: &'static str) -> Problem {
        Problem {
            status,
            reason,
            closes: true,
        }
    }

    /// A refusal of a well-formed request. The connection continues.
    pub const fn refused(status: u16, reason: &'static str) -> Problem {
        Problem {
            status,
            reason,
            closes: false,
        }
    }
}

/// A refusal with the status 400, as for most problems of requests.
pub const fn bad(reason: &'static str) -> Problem {
    Problem::malformed(400, reason)
}

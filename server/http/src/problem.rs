//! A request that cannot be answered as asked: its status, the reason, and whether its connection
//! continues.
//!
//! The readers, the router and the handlers make problems. `page` makes the response, and the
//! connection makes the log line. The reason is for the error log and never contains text of the
//! client.

/// One refusal. `closes`: the bytes that follow on the connection cannot be trusted to be a
/// request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem {
    pub status: u16,
    pub reason: &'static str,
    pub closes: bool,
}

impl Problem {
    /// The bytes are not acceptable HTTP or exceed a limit: answer and close.
    pub const fn malformed(status: u16, reason: &'static str) -> Problem {
        Problem {
            status,
            reason,
            closes: true,
        }
    }

    /// The request is well-formed but refused. The connection continues.
    pub const fn refused(status: u16, reason: &'static str) -> Problem {
        Problem {
            status,
            reason,
            closes: false,
        }
    }
}

/// A 400 with its reason, which covers most problems of requests.
pub const fn bad(reason: &'static str) -> Problem {
    Problem::malformed(400, reason)
}

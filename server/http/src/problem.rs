//! A request that cannot be answered as asked: its status, why, and whether its connection can go on.
//!
//! Made wherever a request is read, routed or handled; turned into a page by `page`, into a log line by
//! the connection. The reason is for the error log and never holds text of the client's.

/// One refusal. `closes`: what follows on the connection cannot be trusted to be a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem {
    pub status: u16,
    pub reason: &'static str,
    pub closes: bool,
}

impl Problem {
    /// The bytes are not HTTP as we accept it, or cross a limit: answer and close.
    pub const fn malformed(status: u16, reason: &'static str) -> Problem {
        Problem {
            status,
            reason,
            closes: true,
        }
    }

    /// A well-formed request that is not served: the connection goes on.
    pub const fn refused(status: u16, reason: &'static str) -> Problem {
        Problem {
            status,
            reason,
            closes: false,
        }
    }
}

/// 400 with its reason: most of what can be wrong with a request.
pub const fn bad(reason: &'static str) -> Problem {
    Problem::malformed(400, reason)
}

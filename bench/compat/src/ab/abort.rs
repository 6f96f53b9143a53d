//! Defines the errors after which ab, and therefore `mehari ab`, stops without a report. Each error
//! has APR's text and number. The exit status follows from the number.

use crate::resolve::Unresolved;

/// APR's error number for a poll that has timed out.
const POLL_TIMED_OUT: i32 = 70007;
/// The first of APR's numbers for resolver errors.
const RESOLVER_ERRORS: i32 = 670_000;

/// Why ab stops: the message and the exit status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abort {
    pub what: String,
    pub reason: String,
    pub code: i32,
}

impl Abort {
    pub fn of_system(what: &str, code: i32) -> Abort {
        let error = std::io::Error::from_raw_os_error(code);
        Abort {
            what: what.into(),
            reason: crate::reason(&error),
            code,
        }
    }

    pub fn of_resolver(name: &str, unresolved: Unresolved) -> Abort {
        Abort {
            what: format!("apr_sockaddr_info_get() for {name}"),
            reason: unresolved.reason,
            code: RESOLVER_ERRORS + unresolved.code,
        }
    }

    pub fn poll_timed_out() -> Abort {
        Abort {
            what: "apr_pollset_poll".into(),
            reason: "The timeout specified has expired".into(),
            code: POLL_TIMED_OUT,
        }
    }

    pub fn line(&self) -> String {
        format!("{}: {} ({})\n", self.what, self.reason, self.code)
    }

    /// Returns the exit status: the low eight bits of APR's error.
    pub fn status(&self) -> u8 {
        (self.code & 0xff) as u8
    }
}

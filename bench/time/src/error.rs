//! Why a file's subs cannot be timed.

/// Each message is one line and names the file or the sub.
#[derive(Debug, thiserror::Error)]
pub enum TimeError {
    #[error("{perl} cannot be run: {cause}")]
    NoPerl { perl: String, cause: String },
    #[error("{file} cannot be read: {cause}")]
    Unreadable { file: String, cause: String },
    #[error("{file} cannot be loaded: {reason}")]
    NotLoaded { file: String, reason: String },
    #[error("{file} ends perl while it is loaded ({status})")]
    LoadEnded { file: String, status: String },
    #[error("{file} has no sub to time: expected `sub NAME` in the package main, and a name that does not begin with `_`")]
    NoSubs { file: String },
    #[error("{file}: {sub} dies: {reason}")]
    Died {
        file: String,
        sub: String,
        reason: String,
    },
    #[error("{file}: {sub} ends its process ({status})")]
    Ended {
        file: String,
        sub: String,
        status: String,
    },
    #[error("{file}: {what} within {seconds} s (--limit)")]
    Slow {
        file: String,
        what: String,
        seconds: f64,
    },
    #[error(
        "{file}: {sub} costs no more than an empty sub: let the sub do its work several times (--wall times subs that wait)"
    )]
    TooCheap { file: String, sub: String },
    #[error("{file}: {sub} gives {given}, but {first} gives {expected} (`# results: equal`)")]
    Differ {
        file: String,
        first: String,
        expected: String,
        sub: String,
        given: String,
    },
    #[error("{0} (--instructions counts with valgrind)")]
    NotCounted(String),
    #[error("{file}: {sub} has no interval: {cause}")]
    NoInterval {
        file: String,
        sub: String,
        cause: mehari_record::Error,
    },
    #[error("the driver's answer cannot be read: {0}")]
    Protocol(String),
}

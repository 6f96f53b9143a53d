//! What can go wrong with a record, by what the reader of the message can do about it.

/// Every message names the thing at fault and what was expected of it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened, read or written.
    #[error("cannot {doing} {path}: {cause}")]
    File {
        doing: &'static str,
        path: String,
        cause: std::io::Error,
    },
    /// The text is not a record, or not one that this program understands.
    #[error("{path}: {expected}")]
    Unreadable { path: String, expected: String },
    /// Two records that cannot be put together.
    #[error("cannot merge: {0}")]
    Unmergeable(String),
    /// Too few or impossible values for the statistic asked for.
    #[error("{0}")]
    Statistic(String),
}

//! Defines the errors of this crate. Errors are distinguished by what the reader of the message can
//! do about them.

/// An error. The message names the faulty file or value and says what was expected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened, read or written.
    #[error("cannot {doing} {path}: {cause}")]
    File {
        doing: &'static str,
        path: String,
        cause: std::io::Error,
    },
    /// The text is not a record, or a record of a version that this program cannot read.
    #[error("{path}: {expected}")]
    Unreadable { path: String, expected: String },
    /// The two records cannot be merged.
    #[error("cannot merge: {0}")]
    Unmergeable(String),
    /// The values are too few or impossible for the statistic.
    #[error("{0}")]
    Statistic(String),
}

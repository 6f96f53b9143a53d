//! The errors of records, by what the reader of the message can do about them.

/// An error. Its message names the faulty file or value and the expectation.
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
    /// The two records cannot be merged.
    #[error("cannot merge: {0}")]
    Unmergeable(String),
    /// The values are too few or impossible for the statistic.
    #[error("{0}")]
    Statistic(String),
}

//! Why memory cannot be measured.

/// Each message is one line and names what cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    #[error("{perl} cannot be run: {cause}")]
    NoPerl { perl: String, cause: String },
    #[error("`{0}` names no module: expected what follows `use`, such as `POSIX` or `POSIX ()`")]
    NotModule(String),
    #[error("`use {module}` fails: {reason}")]
    NotLoaded { module: String, reason: String },
    #[error("{perl} ends without a figure for `use {module}`")]
    NoFigure { perl: String, module: String },
}

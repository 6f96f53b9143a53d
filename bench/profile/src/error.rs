//! Why a process cannot be profiled.

/// Each message is one line and names the process or the file.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("there is no process {0}")]
    NoProcess(u32),
    #[error("process {pid} ({name}) is not a perl: it has no perl interpreter in its memory")]
    NotPerl { pid: u32, name: String },
    #[error("process {pid}: its perl ({file}) has no symbol `{symbol}`: it was stripped of what it exports")]
    NoSymbol {
        pid: u32,
        file: String,
        symbol: &'static str,
    },
    #[error("process {pid}: its perl has not started to run yet, or has ended")]
    NoInterpreter { pid: u32 },
    #[error("process {0} belongs to another user or is protected: run this command as its user or as root")]
    Forbidden(u32),
    #[error("process {pid}: cannot read {file}: {cause}")]
    Unreadable {
        pid: u32,
        file: String,
        cause: String,
    },
    #[error("process {pid}: where its perl keeps the call stack is not known: {reason}")]
    NoLayout { pid: u32, reason: String },
    #[error("{file}: {cause}")]
    NotExact { file: String, cause: String },
    #[error("there is no process to profile")]
    Nothing,
}

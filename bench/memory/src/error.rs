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
    #[error("process {0} has ended")]
    Gone(u32),
    #[error("process {0} belongs to another user or is protected: run this command as its user or as root")]
    Forbidden(u32),
    #[error("process {pid} has {} MiB of writable memory, too much to copy", bytes >> 20)]
    TooLarge { pid: u32, bytes: u64 },
    #[error("process {0}: its perl does not tell where its values are")]
    NoHeap(u32),
    #[error("process {0} was not forked by a running perl, so it shares no variables")]
    NotForked(u32),
    #[error("process {0} is not a perl that can be read")]
    NotPerl(u32),
    #[error("the kernel does not tell page faults: {0} (perf_event_paranoid above 2 and some containers forbid it: run as root)")]
    NoFaults(std::io::Error),
}

//! The limits of CGI programs: `RLimitCPU` and its relatives.
//!
//! The front gives the limits to `mehari_cgi`, which sets them before a program begins.

/// What `RLimitCPU`, `RLimitMEM` and `RLimitNPROC` limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitedResource {
    /// Seconds of processor time.
    Cpu,
    /// Bytes of address space.
    Memory,
    /// Processes of the user.
    Processes,
}

/// The soft and the hard limit of a process. `None`: the most that the system allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct ProcessLimit {
    pub soft: Option<u64>,
    pub hard: Option<u64>,
}

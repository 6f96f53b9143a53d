//! The limits that a worker may reach, and how many workers ended because of each.

use crate::memory::{mib, ProcessMemory};
use mehari_config::{LogLevel, WorkerLimits};

/// Counts the workers that ended because of a limit, by the limit.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Replacements {
    /// `MaxConnectionsPerChild`
    pub requests: u64,
    /// `MaxWorkerMemory`
    pub memory: u64,
    /// `MaxUnsharedMemory`
    pub unshared: u64,
    /// `MinSharedMemory`
    pub shared: u64,
    /// `MaxWorkerLifetime`
    pub lifetime: u64,
    /// `WorkerIdleTimeout`. Such a worker gets no successor.
    pub idle: u64,
    /// The code of the worker asked for it: `Apache2::SizeLimit`, `child_terminate` and the like.
    pub asked: u64,
}

/// Why a worker is to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worn {
    Requests,
    /// The worker has this many bytes of memory, the limit is the other number.
    Memory(u64, u64),
    Unshared(u64, u64),
    Shared(u64, u64),
    Lifetime,
    Asked,
}

impl Worn {
    /// Returns the memory limit that a process is beyond.
    pub fn by_memory(limits: &WorkerLimits, memory: &ProcessMemory) -> Option<Worn> {
        let most = |now: u64, limit: Option<u64>| limit.filter(|limit| now > *limit);
        let least = |now: u64, limit: Option<u64>| limit.filter(|limit| now < *limit);
        if let Some(limit) = most(memory.rss, limits.memory) {
            return Some(Worn::Memory(memory.rss, limit));
        }
        if let Some(limit) = most(memory.private, limits.unshared) {
            return Some(Worn::Unshared(memory.private, limit));
        }
        least(memory.shared, limits.shared).map(|limit| Worn::Shared(memory.shared, limit))
    }

    /// The level of the line in the log. A worker that reaches the end of its planned life is no
    /// news.
    pub fn level(self) -> LogLevel {
        match self {
            Worn::Requests | Worn::Lifetime | Worn::Asked => LogLevel::Info,
            Worn::Memory(..) | Worn::Unshared(..) | Worn::Shared(..) => LogLevel::Notice,
        }
    }

    pub fn count(self, all: &mut Replacements) {
        *match self {
            Worn::Requests => &mut all.requests,
            Worn::Memory(..) => &mut all.memory,
            Worn::Unshared(..) => &mut all.unshared,
            Worn::Shared(..) => &mut all.shared,
            Worn::Lifetime => &mut all.lifetime,
            Worn::Asked => &mut all.asked,
        } += 1;
    }
}

impl std::fmt::Display for Worn {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Worn::Requests => out.write_str("has reached MaxConnectionsPerChild"),
            Worn::Memory(now, limit) => write!(
                out,
                "has {} of memory, more than MaxWorkerMemory ({})",
                mib(now),
                mib(limit)
            ),
            Worn::Unshared(now, limit) => write!(
                out,
                "has {} of unshared memory, more than MaxUnsharedMemory ({})",
                mib(now),
                mib(limit)
            ),
            Worn::Shared(now, limit) => write!(
                out,
                "has {} of shared memory, less than MinSharedMemory ({})",
                mib(now),
                mib(limit)
            ),
            Worn::Lifetime => out.write_str("has reached MaxWorkerLifetime"),
            Worn::Asked => out.write_str("asks to be replaced"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::field_reassign_with_default)] // one field is private
mod tests {
    use super::*;

    #[test]
    fn a_limit_names_the_memory_that_is_beyond_it() {
        let mut memory = ProcessMemory::default();
        memory.rss = 50 << 20;
        memory.private = 30 << 20;
        memory.shared = 20 << 20;
        let limits = |memory, unshared, shared| WorkerLimits {
            memory,
            unshared,
            shared,
            ..WorkerLimits::default()
        };
        let worn = |limits| Worn::by_memory(&limits, &memory);
        assert_eq!(worn(WorkerLimits::default()), None);
        let equal = limits(Some(50 << 20), Some(30 << 20), Some(20 << 20));
        assert_eq!(worn(equal), None, "a limit that is just reached");
        let said = |limits| worn(limits).map(|worn| worn.to_string());
        assert_eq!(
            said(limits(Some(49 << 20), None, None)).as_deref(),
            Some("has 50.0 MiB of memory, more than MaxWorkerMemory (49.0 MiB)")
        );
        assert_eq!(
            said(limits(None, Some(29 << 20), None)).as_deref(),
            Some("has 30.0 MiB of unshared memory, more than MaxUnsharedMemory (29.0 MiB)")
        );
        assert_eq!(
            said(limits(None, None, Some(21 << 20))).as_deref(),
            Some("has 20.0 MiB of shared memory, less than MinSharedMemory (21.0 MiB)")
        );
    }
}

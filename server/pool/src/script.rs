//! Identifies the script or the application of a request for the choice of a worker.

use crate::call::Task;
use mehari_config::Rung;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A script on the rungs `rewind` and `auto`, or a handler or an application with `PerlIsolation
/// rewind`, identified by a hash of its file or name. Two scripts with the same hash share workers,
/// which costs time but does no harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Script(u64);

impl Script {
    /// Returns the script of a task. `None`: every worker runs the task at the same cost.
    pub fn of(task: &Task<'_>) -> Option<Script> {
        let name = match task {
            Task::Script {
                rung: Rung::Rewind | Rung::Auto,
                file,
            } => file,
            Task::Psgi {
                file,
                rewound: true,
            } => file,
            Task::Handler {
                name,
                rewound: true,
                ..
            } => name,
            _ => return None,
        };
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        Some(Script(hasher.finish()))
    }
}

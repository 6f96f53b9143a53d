//! Identifies the script of a request for the choice of a worker.

use crate::call::Task;
use mehari_config::Rung;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A script on the rungs `rewind` and `auto`, identified by a hash of its file. Two scripts with
/// the same hash share workers, which costs time but does no harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Script(u64);

impl Script {
    /// Returns the script of a task. `None`: every worker runs the task at the same cost.
    pub fn of(task: &Task<'_>) -> Option<Script> {
        let Task::Script { rung, file } = task else {
            return None;
        };
        if !matches!(rung, Rung::Rewind | Rung::Auto) {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        file.hash(&mut hasher);
        Some(Script(hasher.finish()))
    }
}

//! Identifies the script or the application of a request for the choice of a worker.

use crate::call::Task;
use mehari_config::Rung;
use std::collections::VecDeque;
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

/// How well a worker is prepared for a request. A greater value is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Readiness {
    /// The worker must start a template of the script first.
    WithoutTemplate,
    HasTemplate,
    /// The process of the script has the worker's mailbox.
    HasProcess,
}

/// The scripts of which a worker keeps a template process, the script used last first. The pool
/// only guesses this, because a template may have died.
#[derive(Debug, Default)]
pub struct Templates {
    scripts: VecDeque<Script>,
    /// The most scripts.
    most: usize,
}

impl Templates {
    /// Returns the templates of a new worker, which will keep at most this number.
    pub fn at_most(most: usize) -> Templates {
        Templates {
            scripts: VecDeque::new(),
            most,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.scripts.is_empty()
    }

    pub fn readiness(&self, script: Script) -> Readiness {
        match self.scripts.iter().position(|kept| *kept == script) {
            Some(0) => Readiness::HasProcess,
            Some(_) => Readiness::HasTemplate,
            None => Readiness::WithoutTemplate,
        }
    }

    /// Notes that the worker gets a request for this script.
    pub fn note(&mut self, script: Script) {
        if self.scripts.front() == Some(&script) {
            return;
        }
        match self.scripts.iter().position(|kept| *kept == script) {
            Some(place) => drop(self.scripts.remove(place)),
            None => self.scripts.truncate(self.most.saturating_sub(1)),
        }
        self.scripts.push_front(script);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_keeps_the_templates_that_it_used_last() {
        let mut templates = Templates::at_most(5);
        for number in 0..5 {
            templates.note(Script(number));
        }
        templates.note(Script(0));
        assert_eq!(templates.readiness(Script(0)), Readiness::HasProcess);
        templates.note(Script(1000));
        assert_eq!(templates.readiness(Script(0)), Readiness::HasTemplate);
        assert_eq!(templates.readiness(Script(1)), Readiness::WithoutTemplate);
        assert_eq!(templates.scripts.len(), 5);
    }
}

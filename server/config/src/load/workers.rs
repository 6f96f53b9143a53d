//! Refuses settings of workers that contradict one another. Each team is checked with the settings
//! that it inherits from the main server.

use super::Reader;
use crate::{Problem, WorkerPolicy};

/// Two settings that cannot both hold.
struct Contradiction {
    /// The directives. The last line of one of them gets the problem.
    directives: [&'static str; 2],
    message: String,
}

impl Reader<'_> {
    /// Checks the settings that a team makes itself, together with those that it inherits.
    pub(super) fn check_workers(&mut self) {
        let main = &self.main.team.workers;
        let drafts = std::iter::once(&self.main).chain(&self.hosts);
        let found: Vec<Contradiction> = drafts
            .flat_map(|draft| {
                let own = &draft.team.workers;
                let whole = own.over(main);
                [
                    spare(own, &whole),
                    unshared(own, &whole),
                    shared(own, &whole),
                    queue(own, &whole),
                ]
            })
            .flatten()
            .collect();
        for Contradiction {
            directives,
            message,
        } in found
        {
            let is_named = |name: &str| directives.contains(&name);
            let Some(note) = self.notes.iter().rfind(|note| is_named(note.directive)) else {
                continue;
            };
            self.problems.push(Problem {
                file: note.file.clone(),
                line: note.line,
                column: note.column,
                message,
            });
        }
    }
}

fn spare(own: &WorkerPolicy, whole: &WorkerPolicy) -> Option<Contradiction> {
    own.min_spare.or(own.max_spare)?;
    let (least, most) = whole.min_spare.zip(whole.max_spare)?;
    (least > most).then(|| Contradiction {
        directives: ["MaxSpareServers", "MinSpareServers"],
        message: format!(
            "expected MaxSpareServers to be at least MinSpareServers, which is {least}, not {most}"
        ),
    })
}

fn unshared(own: &WorkerPolicy, whole: &WorkerPolicy) -> Option<Contradiction> {
    own.limits.unshared.or(own.limits.memory)?;
    let (part, all) = whole.limits.unshared.zip(whole.limits.memory)?;
    (part >= all).then(|| Contradiction {
        directives: ["MaxUnsharedMemory", "MaxWorkerMemory"],
        message: format!(
            "expected MaxUnsharedMemory to be less than MaxWorkerMemory, which is {all}, not \
             {part}: a worker would always reach MaxWorkerMemory first"
        ),
    })
}

fn shared(own: &WorkerPolicy, whole: &WorkerPolicy) -> Option<Contradiction> {
    own.limits.shared.or(own.limits.memory)?;
    let (part, all) = whole.limits.shared.zip(whole.limits.memory)?;
    (part >= all).then(|| Contradiction {
        directives: ["MinSharedMemory", "MaxWorkerMemory"],
        message: format!(
            "expected MinSharedMemory to be less than MaxWorkerMemory, which is {all}, not \
             {part}: every worker would be beyond one of the two"
        ),
    })
}

fn queue(own: &WorkerPolicy, whole: &WorkerPolicy) -> Option<Contradiction> {
    (own.may_be_empty() && whole.queue == 0).then(|| Contradiction {
        directives: ["WorkerQueue", "WorkerIdleTimeout"],
        message: "expected a WorkerQueue of at least 1 beside `WorkerIdleTimeout ... All`: a \
                  request waits in the queue while its worker is forked"
            .to_owned(),
    })
}

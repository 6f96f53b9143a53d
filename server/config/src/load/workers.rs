//! Refuses settings of workers that contradict one another. Each team is checked with the settings
//! that it inherits from the main server.

use super::Reader;
use crate::{Note, Problem, WorkerPolicy};
use std::path::PathBuf;

/// Two settings that cannot both hold.
struct Contradiction {
    /// The directives. The last line of one of them gets the problem.
    directives: [&'static str; 2],
    message: String,
}

/// The file of a section, and its first and its last line.
type Lines = (PathBuf, u32, u32);

impl Reader<'_> {
    /// Checks the settings that a team makes itself, together with those that it inherits.
    pub(super) fn check_workers(&mut self) {
        let main = &self.main.team.workers;
        let drafts = std::iter::once(&self.main).chain(&self.hosts);
        let of_hosts = drafts.map(|draft| (&draft.team.workers, None));
        let of_pools = self.pools.iter();
        let of_pools = of_pools.map(|draft| (&draft.team.workers, Some(&draft.place)));
        let found: Vec<(Contradiction, Option<Lines>)> = of_hosts
            .chain(of_pools)
            .flat_map(|(own, place)| {
                let whole = own.over(main);
                let all = [
                    spare(own, &whole),
                    unshared(own, &whole),
                    shared(own, &whole),
                    queue(own, &whole),
                    place.and_then(|_| most(own)),
                ];
                all.map(|one| one.map(|one| (one, place.cloned())))
            })
            .flatten()
            .collect();
        for (contradiction, lines) in found {
            let Contradiction {
                directives,
                message,
            } = contradiction;
            let is_named = |note: &&Note| directives.contains(&note.directive);
            let is_in_section = |note: &&Note| {
                let inside = |(file, first, last): &Lines| {
                    note.file == *file && (*first..=*last).contains(&note.line)
                };
                is_named(note) && lines.as_ref().is_none_or(inside)
            };
            let mut notes = self.notes.iter();
            let in_section = notes.clone().rfind(is_in_section);
            let Some(note) = in_section.or_else(|| notes.rfind(is_named)) else {
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

/// Compares the numbers of workers that one section sets. Elsewhere the maximum limits the others,
/// as in Apache.
fn most(own: &WorkerPolicy) -> Option<Contradiction> {
    let most = own.max?;
    let others = [
        ("StartServers", own.start),
        ("MinSpareServers", own.min_spare),
    ];
    let beyond = |(name, number): &(&'static str, Option<u32>)| {
        number
            .filter(|number| *number > most)
            .map(|number| (*name, number))
    };
    let (name, number) = others.iter().find_map(beyond)?;
    Some(Contradiction {
        directives: ["MaxRequestWorkers", name],
        message: format!(
            "expected MaxRequestWorkers to be at least {name}, which is {number}, not {most}"
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
    (own.may_be_empty() && whole.longest_queue() == 0).then(|| Contradiction {
        directives: ["WorkerQueue", "WorkerIdleTimeout"],
        message: "expected a WorkerQueue of at least 1 beside `WorkerIdleTimeout ... All`: a \
                  request waits in the queue while its worker is forked"
            .to_owned(),
    })
}

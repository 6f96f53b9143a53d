//! Looks at the memory of the pool's processes.
//!
//! The kernel walks all page tables of a process to count its memory. The pool therefore looks at a
//! worker only while the worker is idle, and at most once per second. A worker with a limit of
//! memory is looked at while it runs a request too, because under full load it is never idle.

use crate::inner::{Inner, Pool};
use crate::launcher::Launcher;
use crate::memory::{descendants, MemoryFiles, PoolMemory, ProcessMemory};
use crate::merging;
use crate::worker::Worker;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The shortest time between two looks at all processes.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);

/// What one look has to read.
struct Task {
    /// What launchers have read.
    known: HashMap<u32, ProcessMemory>,
    merges_memory: bool,
    zygotes: Vec<u32>,
    /// The process number of each worker that is read, and the requests that it had served.
    idle: Vec<(u32, u64)>,
    /// The workers that are not read, with their last known memory.
    busy: Vec<(u32, Option<ProcessMemory>)>,
}

impl Task {
    fn read(self) -> (Vec<(u32, u64, ProcessMemory)>, PoolMemory) {
        let of = |pid: u32| {
            let known = self.known.get(&pid).copied();
            known.or_else(|| ProcessMemory::of(pid))
        };
        let read = |(pid, served)| Some((pid, served, of(pid)?));
        let workers: Vec<_> = self.idle.iter().copied().filter_map(read).collect();
        let mut seen: Vec<u32> = workers.iter().map(|(pid, ..)| *pid).collect();
        seen.extend(self.busy.iter().map(|(pid, _)| *pid));
        let others = self.zygotes.iter().copied().flat_map(descendants);
        let others: Vec<u32> = others.filter(|pid| !seen.contains(pid)).collect();
        let mut all: Vec<ProcessMemory> = workers.iter().map(|(.., memory)| *memory).collect();
        all.extend(self.busy.iter().filter_map(|(_, memory)| *memory));
        all.extend(others.iter().copied().filter_map(of));
        let processes = seen.iter().chain(&others).copied();
        let files = MemoryFiles::of(std::process::id(), processes);
        let mut total = PoolMemory::of(&all, &files);
        if self.merges_memory {
            let processes = seen.iter().chain(&others);
            total.merged = Some(processes.map(|pid| merging::saved(*pid)).sum());
        }
        (workers, total)
    }
}

/// Returns the memory of a process. A pool's launcher reads it for the front.
pub async fn memory_of(pid: u32, launcher: Option<Rc<Launcher>>) -> Option<ProcessMemory> {
    match launcher {
        Some(launcher) => launcher.memory(pid, &[]).await.remove(&pid),
        None => {
            let look = move || ProcessMemory::of(pid);
            tokio::task::spawn_blocking(look).await.ok()?
        }
    }
}

impl Pool {
    /// Reads the memory of all processes of Perl, except of workers that run a request. Does
    /// nothing if that was done less than a second ago.
    pub async fn look_at_memory(&self) {
        let (mut task, launched) = {
            let mut inner = self.borrow();
            let now = Instant::now();
            let is_new = |before| now.saturating_duration_since(before) < PAUSE;
            if inner.memory_looked_at.is_some_and(is_new) {
                return;
            }
            inner.memory_looked_at = Some(now);
            inner.served_at_look = inner.totals.requests;
            let zygotes = inner.generations.iter().flat_map(|it| it.zygotes.iter());
            let zygotes = zygotes
                .filter_map(|loaded| loaded.zygote.as_ref()?.pid())
                .collect();
            let workers = || {
                inner
                    .workers
                    .iter()
                    .flatten()
                    .filter(|worker| worker.pid > 1)
            };
            let is_limited = |worker: &Worker| {
                let team = inner.teams.get(worker.team);
                team.is_some_and(|team| team.policy.limits.need_memory())
            };
            let may_be_read = |worker: &&Worker| worker.held.is_empty() || is_limited(worker);
            let (idle, busy): (Vec<_>, Vec<_>) = workers().partition(may_be_read);
            let known = |worker: &Worker| worker.memory.report().map(|it| it.now);
            let launched = inner.launched_zygotes();
            let task = Task {
                known: HashMap::new(),
                merges_memory: inner.merges_memory,
                zygotes,
                idle: idle
                    .into_iter()
                    .map(|worker| (worker.pid, worker.served))
                    .collect(),
                busy: busy
                    .into_iter()
                    .map(|worker| (worker.pid, known(worker)))
                    .collect(),
            };
            (task, launched)
        };
        let busy: Vec<u32> = task.busy.iter().map(|(pid, _)| *pid).collect();
        for (launcher, zygote) in launched {
            task.known.extend(launcher.memory(zygote, &busy).await);
        }
        let Ok((workers, total)) = tokio::task::spawn_blocking(|| task.read()).await else {
            return;
        };
        let mut inner = self.borrow();
        inner.memory = total;
        for (pid, served, memory) in workers {
            let index = inner.index_of(pid);
            let Some(index) = index else { continue };
            if let Some(worker) = inner.worker(index) {
                worker.memory.add(served, memory);
            }
            inner.check_memory(index, &memory);
        }
    }
}

impl Inner {
    /// Returns the zygotes of pools with a launcher. Only the launcher may look into the processes
    /// of another user.
    fn launched_zygotes(&self) -> Vec<(Rc<Launcher>, u32)> {
        let loaded = self.generations.iter().flat_map(|it| it.zygotes.iter());
        let zygotes = loaded.filter_map(|loaded| loaded.zygote.as_ref());
        zygotes
            .filter_map(|zygote| Some((zygote.launcher()?.clone(), zygote.pid()?)))
            .collect()
    }

    /// Whether the workers of any team have a limit of memory.
    pub fn limits_memory(&self) -> bool {
        let mut teams = self.teams.iter();
        teams.any(|team| team.policy.limits.need_memory())
    }

    /// Whether limits of memory are in force and a request has come since the last look.
    pub fn has_served_since_look(&self) -> bool {
        self.limits_memory() && self.totals.requests != self.served_at_look
    }
}

//! The memory of Perl's processes, as the kernel counts it in `/proc/PID/smaps_rollup`.
//!
//! The pool reads the file of a worker only while the worker is idle, and at most once per second,
//! because the kernel walks all page tables of the process for it. `policy` plans with the result,
//! and `status` shows it.

use crate::inner::Pool;
use std::time::{Duration, Instant};

/// The shortest time between two looks at all processes.
const PAUSE: Duration = Duration::from_secs(1);
/// The most looks that are kept of a worker. Of more looks, every second one is dropped.
const LOOKS: usize = 32;
/// The fewest requests between two looks that show a growth. The memory of fewer requests is
/// smaller than the pieces in which perl gets memory from the kernel.
const FEWEST_REQUESTS: u64 = 500;

/// The memory of a process, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct ProcessMemory {
    /// All pages in memory.
    pub rss: u64,
    /// The same, with each shared page divided by the number of processes that map it.
    pub pss: u64,
    /// Pages that no other process maps.
    pub private: u64,
    /// Pages that another process maps too.
    pub shared: u64,
    /// Private pages that the kernel cannot read again from a file.
    #[serde(skip)]
    pub private_dirty: u64,
    /// Pages that belong to no file, private and shared.
    #[serde(skip)]
    anonymous: u64,
}

impl ProcessMemory {
    /// Returns `None` if the process has gone or belongs to another user.
    fn of(pid: u32) -> Option<ProcessMemory> {
        ProcessMemory::parse(&std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?)
    }

    fn parse(rollup: &str) -> Option<ProcessMemory> {
        let bytes = |name: &str| {
            let after = |line: &str| {
                line.strip_prefix(name)?
                    .strip_prefix(':')
                    .map(str::to_owned)
            };
            let value = rollup.lines().find_map(after)?;
            let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
            Some(kib << 10)
        };
        let private_dirty = bytes("Private_Dirty")?;
        Some(ProcessMemory {
            rss: bytes("Rss")?,
            pss: bytes("Pss")?,
            private: bytes("Private_Clean")? + private_dirty,
            shared: bytes("Shared_Clean")? + bytes("Shared_Dirty")?,
            private_dirty,
            anonymous: bytes("Anonymous")?,
        })
    }
}

/// The memory of a worker.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct WorkerMemory {
    #[serde(flatten)]
    pub now: ProcessMemory,
    /// The bytes that the worker shared with its zygote at the first look, and has written since.
    pub unshared: u64,
    /// The bytes by which each request makes the worker larger. `None` until the worker has served
    /// enough requests. Memory that becomes unshared does not count.
    pub growth_per_request: Option<u64>,
}

/// The looks at one worker, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct MemoryHistory {
    looks: Vec<MemoryAtRequest>,
}

#[derive(Debug, Clone, Copy)]
struct MemoryAtRequest {
    served: u64,
    memory: ProcessMemory,
}

impl MemoryHistory {
    fn add(&mut self, served: u64, memory: ProcessMemory) {
        if self.looks.len() == LOOKS {
            let mut index = 0;
            self.looks.retain(|_| {
                index += 1;
                index % 2 == 1
            });
        }
        self.looks.push(MemoryAtRequest { served, memory });
    }

    /// What the looks show together. `None`: there was no look.
    pub fn report(&self) -> Option<WorkerMemory> {
        let (first, last) = (self.looks.first()?, self.looks.last()?);
        // A page that becomes unshared changes from shared to private and stays anonymous. New
        // memory is private and makes the anonymous pages more.
        let more =
            |of: fn(&ProcessMemory) -> u64| of(&last.memory).saturating_sub(of(&first.memory));
        let unshared = more(|it| it.private_dirty).saturating_sub(more(|it| it.anonymous));
        Some(WorkerMemory {
            now: last.memory,
            unshared,
            growth_per_request: self.growth(),
        })
    }

    /// The growth over the second half of the requests. In the first half a program fills its caches.
    fn growth(&self) -> Option<u64> {
        let last = self.looks.last()?;
        let is_later = |look: &&MemoryAtRequest| look.served >= last.served / 2;
        let middle = self.looks.iter().find(is_later)?;
        let requests = last.served - middle.served;
        let more = last
            .memory
            .anonymous
            .saturating_sub(middle.memory.anonymous);
        (requests >= FEWEST_REQUESTS).then(|| more / requests)
    }
}

/// The memory of all processes of Perl together, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct PoolMemory {
    /// Zygotes, workers, templates and their children.
    pub processes: usize,
    /// The sum of PSS: the memory that is free again when these processes end.
    pub pss: u64,
    /// The sum by the mod_perl guide's formula: the shared memory once, and the rest of each worker.
    pub formula: u64,
}

impl PoolMemory {
    fn of(all: &[ProcessMemory]) -> PoolMemory {
        let shared = all.iter().map(|it| it.shared).max().unwrap_or(0);
        PoolMemory {
            processes: all.len(),
            pss: all.iter().map(|it| it.pss).sum(),
            formula: shared
                + all
                    .iter()
                    .map(|it| it.rss - it.shared.min(it.rss))
                    .sum::<u64>(),
        }
    }
}

/// What one look has to read.
struct Task {
    zygotes: Vec<u32>,
    /// The process number of each idle worker, and the requests that it had served.
    idle: Vec<(u32, u64)>,
    /// The workers that run a request, with their last known memory.
    busy: Vec<(u32, Option<ProcessMemory>)>,
}

impl Task {
    fn read(self) -> (Vec<(u32, u64, ProcessMemory)>, PoolMemory) {
        let read = |(pid, served)| Some((pid, served, ProcessMemory::of(pid)?));
        let workers: Vec<_> = self.idle.into_iter().filter_map(read).collect();
        let mut seen: Vec<u32> = workers.iter().map(|(pid, ..)| *pid).collect();
        seen.extend(self.busy.iter().map(|(pid, _)| *pid));
        let others = self.zygotes.into_iter().flat_map(descendants);
        let others: Vec<u32> = others.filter(|pid| !seen.contains(pid)).collect();
        let mut all: Vec<ProcessMemory> = workers.iter().map(|(.., memory)| *memory).collect();
        all.extend(self.busy.iter().filter_map(|(_, memory)| *memory));
        all.extend(others.into_iter().filter_map(ProcessMemory::of));
        (workers, PoolMemory::of(&all))
    }
}

/// A process and all processes below it.
fn descendants(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = children.unwrap_or_default();
        found.extend(
            children
                .split_whitespace()
                .filter_map(|pid| pid.parse::<u32>().ok()),
        );
        next += 1;
    }
    found
}

impl Pool {
    /// Reads the memory of all processes of Perl, except of workers that run a request. Does nothing
    /// if that was done less than a second ago.
    pub async fn look_at_memory(&self) {
        let task = {
            let mut inner = self.borrow();
            let now = Instant::now();
            let is_new = |before| now.saturating_duration_since(before) < PAUSE;
            if inner.memory_looked_at.is_some_and(is_new) {
                return;
            }
            inner.memory_looked_at = Some(now);
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
            let (idle, busy): (Vec<_>, Vec<_>) = workers().partition(|it| it.held.is_empty());
            let known = |worker: &crate::worker::Worker| worker.memory.report().map(|it| it.now);
            Task {
                zygotes,
                idle: idle
                    .into_iter()
                    .map(|worker| (worker.pid, worker.served))
                    .collect(),
                busy: busy
                    .into_iter()
                    .map(|worker| (worker.pid, known(worker)))
                    .collect(),
            }
        };
        let Ok((workers, total)) = tokio::task::spawn_blocking(|| task.read()).await else {
            return;
        };
        let mut inner = self.borrow();
        inner.memory = total;
        for (pid, served, memory) in workers {
            let index = inner.index_of(pid);
            if let Some(worker) = index.and_then(|index| inner.worker(index)) {
                worker.memory.add(served, memory);
            }
        }
    }
}

#[cfg(test)]
mod tests;

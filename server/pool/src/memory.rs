//! The memory of Perl's processes, as the kernel counts it in `/proc/PID/smaps_rollup`.
//!
//! `measure` decides when a process is looked at. `policy` plans with the result, and `status`
//! shows it.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most looks that are kept of a worker. Of more looks, every second one is dropped.
const LOOKS: usize = 32;
/// The fewest requests between two looks that show a growth. The memory of fewer requests is
/// smaller than the pieces in which perl gets memory from the kernel.
const FEWEST_REQUESTS: u64 = 500;
/// The kernel's memory for a process without its page tables: its stack there, its mappings and
/// open files (`peers/memory` on Linux 6.18).
const KERNEL_MEMORY: u64 = 42 << 10;
/// How a link in `/proc/PID/fd` to a memory file begins (memfd_create(2)).
const MEMORY_FILE: &str = "/memfd:";
/// `stat` counts the memory of a file in pieces of this many bytes.
const BLOCK: u64 = 512;

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
    /// The part of `pss` in files on a disk. These pages stay in the kernel's page cache.
    #[serde(skip)]
    pss_of_files: u64,
    /// The part of `pss` in memory files and other memory that was shared by intent.
    #[serde(skip)]
    pss_of_memory_files: u64,
    /// The page tables.
    #[serde(skip)]
    tables: u64,
}

impl ProcessMemory {
    /// Returns `None` if the process has gone or belongs to another user.
    pub fn of(pid: u32) -> Option<ProcessMemory> {
        ProcessMemory::parse(&ProcessMemory::text(pid).ok()?)
    }

    /// Returns what the kernel says of a process, for [`ProcessMemory::parse`].
    pub(crate) fn text(pid: u32) -> std::io::Result<String> {
        let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let tables = status.lines().find(|line| line.starts_with("VmPTE:"));
        Ok(format!("{rollup}{}\n", tables.unwrap_or_default()))
    }

    /// Returns by how much the pages of no file have grown.
    pub fn grown_since(&self, before: &ProcessMemory) -> u64 {
        self.anonymous.saturating_sub(before.anonymous)
    }

    pub(crate) fn parse(rollup: &str) -> Option<ProcessMemory> {
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
            // Kernels before 5.4 do not tell these parts, and then all of `pss` counts.
            pss_of_files: bytes("Pss_File").unwrap_or(0),
            pss_of_memory_files: bytes("Pss_Shmem").unwrap_or(0),
            tables: bytes("VmPTE").unwrap_or(0),
        })
    }
}

/// Returns a process and all processes below it.
pub(crate) fn descendants(pid: u32) -> Vec<u32> {
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

/// Returns a number of bytes as text in MiB.
pub(crate) fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
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
    pub fn add(&mut self, served: u64, memory: ProcessMemory) {
        if self.looks.len() == LOOKS {
            let mut index = 0;
            self.looks.retain(|_| {
                index += 1;
                index % 2 == 1
            });
        }
        self.looks.push(MemoryAtRequest { served, memory });
    }

    /// Returns what the looks show together. `None`: there was no look.
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

    /// Returns the growth over the second half of the requests. In the first half a program fills
    /// its caches.
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

/// The memory files of Perl's processes: mailboxes, and the pictures of the rung `rewind`.
#[derive(Debug, Default)]
pub struct MemoryFiles {
    /// What the front maps of them, proportionally. The front lets go of it when a worker ends.
    mapped_by_front: u64,
    /// The bytes of each file that a process has open, by device and inode.
    open: HashMap<(u64, u64), u64>,
}

impl MemoryFiles {
    /// Looks at the front and at the descriptors of the processes. The files of another user's
    /// processes are left out.
    pub fn of(front: u32, processes: impl Iterator<Item = u32>) -> MemoryFiles {
        let front = ProcessMemory::of(front).unwrap_or_default();
        let mut files = MemoryFiles {
            mapped_by_front: front.pss_of_memory_files,
            open: HashMap::new(),
        };
        for pid in processes {
            let links = std::fs::read_dir(format!("/proc/{pid}/fd"));
            for link in links.into_iter().flatten().flatten() {
                files.add(&link.path());
            }
        }
        files
    }

    fn add(&mut self, link: &Path) {
        let is_memory = |to: PathBuf| to.to_string_lossy().starts_with(MEMORY_FILE);
        if !std::fs::read_link(link).is_ok_and(is_memory) {
            return;
        }
        if let Ok(file) = std::fs::metadata(link) {
            self.open
                .insert((file.dev(), file.ino()), file.blocks() * BLOCK);
        }
    }

    fn bytes(&self) -> u64 {
        self.open.values().sum()
    }
}

/// The memory of all processes of Perl together, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct PoolMemory {
    /// Zygotes, workers, templates and their children.
    pub processes: usize,
    /// The sum of PSS.
    pub pss: u64,
    /// The memory that is free again when these processes end: no pages of files, but the kernel's
    /// memory for the processes, and memory files as a whole.
    pub freed: u64,
    /// The sum by the mod_perl guide's formula: the largest shared memory once, and the rest of
    /// each process.
    pub formula: u64,
    /// What the kernel's merging of equal pages saves. `None`: no merging is configured.
    pub merged: Option<i64>,
}

impl PoolMemory {
    pub fn of(all: &[ProcessMemory], files: &MemoryFiles) -> PoolMemory {
        let shared = all.iter().map(|it| it.shared).max().unwrap_or(0);
        let sum = |of: fn(&ProcessMemory) -> u64| all.iter().map(of).sum::<u64>();
        let of_processes = sum(|it| {
            let kept = it.pss_of_files + it.pss_of_memory_files;
            it.pss.saturating_sub(kept) + it.tables + KERNEL_MEMORY
        });
        // A page of a memory file takes memory even if no process maps it, because each has its own
        // copy. A memory file without a descriptor is known by the processes that map it only.
        let mapped = sum(|it| it.pss_of_memory_files) + files.mapped_by_front;
        PoolMemory {
            processes: all.len(),
            pss: sum(|it| it.pss),
            freed: of_processes + mapped.max(files.bytes()),
            merged: None,
            formula: shared + sum(|it| it.rss - it.shared.min(it.rss)),
        }
    }
}

#[cfg(test)]
mod tests;

//! Computes how many templates a worker may keep. A template and its child are two processes, and
//! every worker may keep some of each script.

use crate::plan::{read, Machine, Plan};
use mehari_config::Site;
use rustix::process::{getrlimit, Resource};

/// The most templates of a worker (`TEMPLATES` in perl/xs/process/fork.c).
const MOST: u64 = 64;
/// The least templates of a worker, even on a machine without room.
const LEAST: u64 = 4;
/// The private memory in bytes of a template and its child.
const PRIVATE: u64 = 1 << 20;

/// Returns the most templates of a worker. All templates take at most a quarter of the free memory,
/// and half of the processes that the server may have.
pub fn of(site: &Site) -> usize {
    let workers = Plan::all(site).iter().map(|plan| u64::from(plan.max)).sum();
    limit(workers, Machine::detect().memory, processes())
}

fn limit(workers: u64, memory: u64, processes: u64) -> usize {
    let by_memory = memory / 4 / PRIVATE;
    let by_processes = processes / 2 / 2;
    let each = by_memory.min(by_processes) / workers.max(1);
    each.clamp(LEAST, MOST) as usize
}

/// Returns the most processes that the server may have, by its cgroup (systemd's TasksMax) and by
/// its user's limit.
fn processes() -> u64 {
    let of_user = getrlimit(Resource::Nproc).current.unwrap_or(u64::MAX);
    let own = read("/proc/self/cgroup").unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::"));
    let folders = [own.unwrap_or_default(), ""];
    let of_groups = folders.iter().filter_map(|folder| {
        let text = read(&format!("/sys/fs/cgroup{folder}/pids.max"))?;
        text.trim().parse::<u64>().ok()
    });
    of_groups.min().unwrap_or(u64::MAX).min(of_user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_fit_into_the_memory_and_into_the_limit_of_processes() {
        assert_eq!(limit(16, 24 << 30, u64::MAX), 64);
        assert_eq!(limit(16, 1 << 30, u64::MAX), 16);
        assert_eq!(limit(16, 24 << 30, 1024), 16);
        assert_eq!(limit(16, 24 << 30, 100), 4);
        assert_eq!(limit(0, 0, 0), 4);
        assert!(processes() > 0);
    }
}

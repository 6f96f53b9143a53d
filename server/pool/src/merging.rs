//! The kernel's merging of equal pages (`MergeWorkerMemory`): whether it runs, and what it saves.

use crate::inner::Pool;

/// The file that says whether the kernel's merging runs.
const RUNS: &str = "/sys/kernel/mm/ksm/run";

impl Pool {
    /// Notes whether a new generation has its memory merged. Warns if the kernel does not merge.
    pub(crate) fn check_merging(&self, number: u32) {
        let mut inner = self.borrow();
        let Some(generation) = inner.generation(number) else {
            return;
        };
        let mut perls = generation.site.perls.iter();
        let merges = perls.any(|perl| perl.merges_memory == Some(true));
        inner.merges_memory = merges;
        let runs = std::fs::read_to_string(RUNS).unwrap_or_default();
        if merges && runs.trim() != "1" {
            inner.log.warn(format_args!(
                "MergeWorkerMemory has no effect: the kernel's merging does not run; expected 1 in {RUNS}"
            ));
        }
    }
}

/// Returns the bytes that merging saves in a process, less what the kernel's tables take. 0 if the
/// kernel does not say.
pub fn saved(pid: u32) -> i64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/ksm_stat")).unwrap_or_default();
    let mut lines = stat.lines();
    let profit = lines.find_map(|line| line.strip_prefix("ksm_process_profit "));
    profit
        .and_then(|bytes| bytes.trim().parse().ok())
        .unwrap_or(0)
}

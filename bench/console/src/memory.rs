//! Reads the memory of the server's processes from `/proc/PID/smaps_rollup`, in this process, so
//! that the server pays nothing for a look.

use crate::processes;
use serde::Serialize;

/// The memory of a process, in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ProcessPages {
    pub pid: u32,
    pub name: String,
    pub rss: u64,
    /// As `rss`, with each shared page divided by the number of processes that map the page.
    pub pss: u64,
    pub private: u64,
    pub shared: u64,
    pub swap: u64,
}

impl ProcessPages {
    /// Returns `None` if the process has gone or belongs to another user.
    pub fn of(pid: u32) -> Option<ProcessPages> {
        let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        ProcessPages::parse(pid, name.trim_end(), &rollup)
    }

    fn parse(pid: u32, name: &str, rollup: &str) -> Option<ProcessPages> {
        let bytes = |name: &str| {
            let mut values = rollup.lines().filter_map(|line| {
                let rest = line.strip_prefix(name)?.strip_prefix(':')?;
                rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
            });
            values.next().map(|kib| kib << 10)
        };
        Some(ProcessPages {
            pid,
            name: name.to_owned(),
            rss: bytes("Rss")?,
            pss: bytes("Pss")?,
            private: bytes("Private_Clean")? + bytes("Private_Dirty")?,
            shared: bytes("Shared_Clean")? + bytes("Shared_Dirty")?,
            swap: bytes("Swap").unwrap_or_default(),
        })
    }
}

/// Returns the memory of a process and of all below it.
pub fn of_tree(root: u32) -> Vec<ProcessPages> {
    let below = processes::processes_below(root);
    let all = std::iter::once(root).chain(below);
    all.filter_map(ProcessPages::of).collect()
}

#[cfg(test)]
mod tests {
    use super::ProcessPages;

    #[test]
    fn sums_of_a_rollup_are_read_in_bytes() {
        let rollup = "1-2 ---p 00000000 00:00 0 [rollup]\nRss:  30 kB\nPss:  20 kB\n\
                      Shared_Clean: 10 kB\nShared_Dirty: 5 kB\nPrivate_Clean: 1 kB\n\
                      Private_Dirty: 14 kB\nSwap: 2 kB\n";
        let pages = ProcessPages::parse(1, "perl", rollup).expect("complete");
        assert_eq!((pages.rss, pages.pss), (30 << 10, 20 << 10));
        assert_eq!((pages.private, pages.shared), (15 << 10, 15 << 10));
        assert_eq!(pages.swap, 2 << 10);
        assert_eq!(ProcessPages::parse(1, "perl", "Rss: 1 kB\n"), None);
    }
}

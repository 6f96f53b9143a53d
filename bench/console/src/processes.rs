//! Reads the facts of processes from /proc: the columns of ps, top and Apache::VMonitor.

use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use std::fs;

/// The most characters of a command line that are shown.
const LONGEST_COMMAND: usize = 300;

/// One process. Sizes are in bytes.
#[derive(Debug, Serialize)]
pub struct ProcessFacts {
    pub pid: u32,
    pub parent: u32,
    /// The kernel's short name.
    pub name: String,
    pub user: String,
    /// The letter of ps: R, S, D, Z, T.
    pub state: char,
    pub terminal: String,
    /// All address space.
    pub virtual_size: u64,
    pub resident: u64,
    /// The resident pages that belong to files or to shared memory.
    pub shared: u64,
    /// Processor time since the process began.
    pub cpu_ms: u64,
    pub command: String,
}

/// The sizes of a process in bytes, and its processor time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProcessSizes {
    pub virtual_size: u64,
    pub resident: u64,
    pub shared: u64,
    pub cpu_ms: u64,
}

impl ProcessSizes {
    /// Returns `None` if the process has gone.
    pub fn of(pid: u32) -> Option<ProcessSizes> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        let facts = ProcessFacts::parse(pid, &stat, &statm)?;
        Some(ProcessSizes {
            virtual_size: facts.virtual_size,
            resident: facts.resident,
            shared: facts.shared,
            cpu_ms: facts.cpu_ms,
        })
    }
}

/// The names of users by their numbers.
#[derive(Default)]
pub struct UserNames(HashMap<u32, String>);

impl UserNames {
    pub fn read() -> UserNames {
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let entry = |line: &str| {
            let mut parts = line.split(':');
            let name = parts.next()?.to_owned();
            Some((parts.nth(1)?.parse().ok()?, name))
        };
        UserNames(passwd.lines().filter_map(entry).collect())
    }

    fn name(&self, number: u32) -> String {
        let known = self.0.get(&number);
        known.cloned().unwrap_or_else(|| number.to_string())
    }
}

impl ProcessFacts {
    /// Returns `None` if the process has gone.
    pub fn of(pid: u32, users: &UserNames) -> Option<ProcessFacts> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        let mut facts = ProcessFacts::parse(pid, &stat, &statm)?;
        let owner = rustix::fs::stat(format!("/proc/{pid}")).ok()?;
        facts.user = users.name(owner.st_uid);
        facts.command = command(pid).unwrap_or_else(|| format!("[{}]", facts.name));
        Some(facts)
    }

    fn parse(pid: u32, stat: &str, statm: &str) -> Option<ProcessFacts> {
        // The name may contain spaces and parentheses.
        let (head, rest) = stat.rsplit_once(") ")?;
        let name = head.split_once(" (")?.1.to_owned();
        let fields: Vec<&str> = rest.split(' ').collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        let page = rustix::param::page_size() as u64;
        let pages: Vec<u64> = statm.split(' ').filter_map(|it| it.parse().ok()).collect();
        let ticks = rustix::param::clock_ticks_per_second().max(1);
        Some(ProcessFacts {
            pid,
            parent: number(1)?.try_into().ok()?,
            name,
            user: String::new(),
            state: fields.first()?.chars().next()?,
            terminal: terminal(number(4)?),
            virtual_size: pages.first()? * page,
            resident: pages.get(1)? * page,
            shared: pages.get(2)? * page,
            cpu_ms: (number(11)? + number(12)?) * 1000 / ticks,
            command: String::new(),
        })
    }
}

/// Returns the name of a terminal by its device number: `pts/3`, `tty1`, or `?`.
fn terminal(device: u64) -> String {
    let (major, minor) = (device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xfff00);
    match major {
        136..=143 => format!("pts/{}", (major - 136) * 256 + minor),
        4 if minor < 64 => format!("tty{minor}"),
        _ => "?".to_owned(),
    }
}

/// Returns the command line. `None`: the process has none, such as a thread of the kernel.
fn command(pid: u32) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let text = String::from_utf8_lossy(&bytes).replace('\0', " ");
    let text: String = text.trim().chars().take(LONGEST_COMMAND).collect();
    (!text.is_empty()).then_some(text)
}

/// Returns all processes that /proc shows.
pub fn all(users: &UserNames) -> Vec<ProcessFacts> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| ProcessFacts::of(pid, users))
        .collect()
}

/// Returns the processes that a process has started, directly or not. Each thread has its own.
pub fn processes_below(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut at = 0;
    while let Some(&pid) = found.get(at) {
        at += 1;
        let threads = fs::read_dir(format!("/proc/{pid}/task"));
        for thread in threads.into_iter().flatten().flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            let words = children.split_ascii_whitespace();
            found.extend(words.filter_map(|it| it.parse::<u32>().ok()));
        }
    }
    found.remove(0);
    found
}

/// Returns the program files and libraries that a process has mapped.
pub fn libraries(pid: u32) -> Vec<String> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let code = maps.lines().filter(|line| line.contains(" r-xp "));
    let files = code.filter_map(|line| line.find('/').map(|at| line[at..].to_owned()));
    files.collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_is_read_whole() {
        let stat = "7 (a) b (c)) S 1 7 7 34819 7 4194304 1 0 0 0 150 50 0 0 20 0 1 0 5 1 1";
        let facts = ProcessFacts::parse(7, stat, "100 50 25 1 0 30 0").expect("a process");
        assert_eq!((facts.name.as_str(), facts.parent), ("a) b (c)", 1));
        assert_eq!((facts.state, facts.terminal.as_str()), ('S', "pts/3"));
        let page = rustix::param::page_size() as u64;
        assert_eq!(facts.virtual_size, 100 * page);
        assert_eq!((facts.resident, facts.shared), (50 * page, 25 * page));
        assert_eq!(
            facts.cpu_ms,
            200_000 / rustix::param::clock_ticks_per_second()
        );
    }

    #[test]
    fn own_process_is_among_all_and_not_below_itself() {
        let own = std::process::id();
        let all = all(&UserNames::read());
        let found = all.iter().find(|it| it.pid == own).expect("this process");
        assert!(found.resident > 0 && !found.command.is_empty());
        assert!(!processes_below(own).contains(&own));
        assert!(libraries(own).iter().any(|file| file.contains("libc")));
    }
}

//! Reads processes and descriptors from /proc.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

pub type Pid = i32;

/// The fields of `/proc/PID/stat` that tests need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: Pid,
    pub parent: Pid,
    pub session: Pid,
    /// `R`, `S`, `Z`, ...
    pub state: char,
    pub command: String,
}

pub fn process(pid: Pid) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain any byte, so its end is searched from the right.
    let (head, tail) = stat.rsplit_once(')')?;
    let words: Vec<&str> = tail.split_whitespace().collect();
    Some(Process {
        pid,
        state: words.first()?.chars().next()?,
        parent: words.get(1)?.parse().ok()?,
        session: words.get(3)?.parse().ok()?,
        command: head.split_once('(')?.1.to_owned(),
    })
}

pub fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(process)
        .collect()
}

/// Returns all descendants of `root`, without `root` itself.
pub fn descendants(root: Pid) -> Vec<Process> {
    let all = all();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for child in all.iter().filter(|process| process.parent == parent) {
            parents.push(child.pid);
            found.push(child.clone());
        }
    }
    found
}

/// Returns the remaining processes of a server: those of its session, and those with its mark in
/// their environment.
pub fn belonging_to(session: Pid, mark: &str) -> Vec<Process> {
    all()
        .into_iter()
        .filter(|process| process.state != 'Z')
        .filter(|process| process.session == session || has_mark(process.pid, mark))
        .filter(|process| process.pid as u32 != std::process::id())
        .collect()
}

fn has_mark(pid: Pid, mark: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else {
        return false;
    };
    environment
        .split(|&byte| byte == 0)
        .any(|variable| variable == mark.as_bytes())
}

/// Counts a process's open descriptors by kind: `socket`, `pipe`, `memfd`, `eventfd`, ..., `file`.
pub fn descriptors(pid: Pid) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return kinds;
    };
    for entry in entries.flatten() {
        if let Ok(target) = fs::read_link(entry.path()) {
            *kinds.entry(kind(&target)).or_insert(0) += 1;
        }
    }
    kinds
}

fn kind(target: &Path) -> String {
    let text = target.to_string_lossy();
    if let Some(name) = text.strip_prefix("anon_inode:") {
        return name.trim_matches(['[', ']']).to_owned();
    }
    if text.starts_with("/memfd:") {
        return "memfd".to_owned();
    }
    match text.split_once(":[") {
        Some((kind, _)) => kind.to_owned(),
        None => "file".to_owned(),
    }
}

/// Returns the number in a line of `/proc/PID/status` that counts kilobytes, such as `VmHWM`.
pub fn kilobytes(pid: Pid, field: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim_start_matches(':')
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

/// Returns the names of a process's threads.
pub fn threads(pid: Pid) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    let names = tasks.into_iter().flatten().flatten().filter_map(|task| {
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        Some(name.trim_end().to_string())
    });
    names.collect()
}

pub fn is_alive(pid: Pid) -> bool {
    process(pid).is_some_and(|process| process.state != 'Z')
}

/// Sends a signal to a process of the test's own server.
pub fn signal(pid: Pid, signal: rustix::process::Signal) {
    let target = rustix::process::Pid::from_raw(pid).expect("a process id above zero");
    // The process may have ended meanwhile.
    let _ = rustix::process::kill_process(target, signal);
}

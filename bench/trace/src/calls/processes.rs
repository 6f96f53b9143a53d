//! Finds the processes of a server: the front, and all that descend from it.

use std::collections::HashMap;
use std::fs;

/// Returns the process and its descendants, the process first.
pub fn family(of: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for pid in numbers("/proc") {
        if let Some(parent) = parent(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut family = vec![of];
    let mut at = 0;
    while let Some(pid) = family.get(at) {
        family.extend(children.remove(pid).unwrap_or_default());
        at += 1;
    }
    family
}

/// Returns the threads of a process.
pub fn threads(pid: u32) -> Vec<u32> {
    numbers(&format!("/proc/{pid}/task")).collect()
}

/// Returns the process of a thread.
pub fn process_of(tid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    line.trim().parse().ok()
}

fn numbers(folder: &str) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Returns the parent, the second word after the name, which may contain anything.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_belong_to_the_family() {
        let own = std::process::id();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("sleep");
        let found = family(own);
        assert_eq!(found[0], own);
        assert!(found.contains(&child.id()), "{found:?}");
        assert_eq!(process_of(child.id()), Some(child.id()));
        assert!(threads(own).contains(&own));
        child.kill().expect("it runs");
        child.wait().expect("its end");
    }
}

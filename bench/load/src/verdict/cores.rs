//! Reads from /proc which processes of this machine took the cores during a run. `measure` calls
//! it. It knows processes by their names only: which of them serves, the reader sees.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use mehari_record::CoreUse;

/// A shorter run is only a few of the kernel's ticks long.
const SHORTEST: Duration = Duration::from_millis(500);
/// A smaller share of all cores is not named.
const LEAST_SHARE: f64 = 0.01;
const MOST_NAMED: usize = 6;
const GENERATOR: &str = "this load generator";

/// The processor time of every process, in ticks since its start.
pub struct Processes(HashMap<u32, Process>);

#[derive(Clone, Debug, PartialEq)]
struct Process {
    name: String,
    parent: u32,
    own: u64,
    /// Of the children that have ended and were waited for.
    ended_children: u64,
}

impl Processes {
    pub fn read() -> Processes {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let processes = entries.filter_map(|entry| {
            let number: u32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            Some((number, Process::parse(&stat)?))
        });
        Processes(processes.collect())
    }

    /// Returns the users of the cores since `before`, the greatest first. Returns none for a run
    /// that is too short to tell.
    pub fn since(&self, before: &Processes, elapsed: Duration, cores: u64) -> Vec<CoreUse> {
        if elapsed < SHORTEST {
            return Vec::new();
        }
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        let all = elapsed.as_secs_f64() * cores.max(1) as f64 * ticks;
        self.shares(before, all, std::process::id())
    }

    fn shares(&self, before: &Processes, all: f64, generator: u32) -> Vec<CoreUse> {
        let mut by_name: HashMap<&str, CoreUse> = HashMap::new();
        for (number, process) in &self.0 {
            let took = self.ticks_since(before, *number, process);
            if took == 0 {
                continue;
            }
            let name = if *number == generator {
                GENERATOR
            } else {
                &process.name
            };
            let used = by_name.entry(name).or_insert_with(|| CoreUse {
                name: name.to_owned(),
                processes: 0,
                share: 0.0,
            });
            used.processes += 1;
            used.share += took as f64 / all;
        }
        let mut named: Vec<CoreUse> = by_name.into_values().collect();
        named.retain(|used| used.share >= LEAST_SHARE);
        named.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.name.cmp(&b.name)));
        named.truncate(MOST_NAMED);
        named
    }

    /// The time of a process and of its children that ended in between. The time that such a child
    /// had taken before does not count.
    fn ticks_since(&self, before: &Processes, number: u32, process: &Process) -> u64 {
        let (own, children) = match before.0.get(&number) {
            Some(old) => (old.own, old.ended_children),
            None => (0, 0),
        };
        let ended = before
            .0
            .iter()
            .filter(|(child, old)| old.parent == number && !self.0.contains_key(child));
        let earlier: u64 = ended.map(|(_, old)| old.own + old.ended_children).sum();
        let of_children = process.ended_children.saturating_sub(children);
        process.own.saturating_sub(own) + of_children.saturating_sub(earlier)
    }
}

impl Process {
    /// Reads a line of /proc/PID/stat, see proc(5). A name may hold spaces and brackets.
    fn parse(stat: &str) -> Option<Process> {
        let (head, fields) = stat.rsplit_once(')')?;
        let name = head.split_once('(')?.1.to_owned();
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
        Some(Process {
            name,
            parent: u32::try_from(number(1)?).ok()?,
            own: number(11)? + number(12)?,
            ended_children: number(13)? + number(14)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processes(lines: &[(u32, &str, u32, u64, u64)]) -> Processes {
        let all = lines.iter().map(|(number, name, parent, own, children)| {
            let stat = format!(
                "{number} ({name}) S {parent} 0 0 0 -1 0 0 0 0 0 {own} 0 {children} 0 20 0 1 0 5 0"
            );
            (*number, Process::parse(&stat).expect(name))
        });
        Processes(all.collect())
    }

    #[test]
    fn shares_are_summed_by_name_and_the_generator_is_told_from_a_server_of_its_name() {
        let before = processes(&[
            (1, "mehari", 0, 50, 0),
            (2, "perl (w)", 1, 10, 0),
            (9, "mehari", 0, 5, 0),
        ]);
        let after = processes(&[
            (1, "mehari", 0, 90, 0),
            (2, "perl (w)", 1, 40, 0),
            (3, "perl (w)", 1, 30, 0),
            (4, "idle", 0, 0, 0),
            (9, "mehari", 0, 25, 0),
        ]);
        let told: Vec<(String, u64, f64)> = after
            .shares(&before, 200.0, 9)
            .into_iter()
            .map(|used| (used.name, used.processes, used.share))
            .collect();
        let expected = [
            ("perl (w)", 2, 0.3),
            ("mehari", 1, 0.2),
            (GENERATOR, 1, 0.1),
        ];
        assert_eq!(
            told,
            expected.map(|(name, n, share)| (name.to_owned(), n, share))
        );
    }

    #[test]
    fn children_that_ended_count_for_their_parent_without_what_they_had_taken_before() {
        let before = processes(&[(1, "server", 0, 0, 100), (2, "script", 1, 30, 0)]);
        let after = processes(&[(1, "server", 0, 0, 180)]);
        let told = after.shares(&before, 100.0, 9);
        assert_eq!(
            told[0].share, 0.5,
            "the script took 30 of the 80 before the run"
        );
    }

    #[test]
    fn busy_process_of_this_machine_is_found() {
        let before = Processes::read();
        let begin = std::time::Instant::now();
        while begin.elapsed() < SHORTEST {
            std::hint::spin_loop();
        }
        let told = Processes::read().since(&before, begin.elapsed(), 1);
        assert!(told.iter().any(|used| used.name == GENERATOR), "{told:?}");
    }
}

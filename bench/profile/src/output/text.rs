//! The report on a terminal: the sampling, then the top by sub and by line.

use crate::grouping::Grouping;
use crate::profile::Profile;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

pub use crate::grouping::shown;

/// Observations of something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SampleTally {
    /// In which it was on a core, and nothing that it called.
    pub own_cpu: u64,
    pub cpu: u64,
    pub own_wall: u64,
    pub wall: u64,
}

/// Writes the report; each table has at most `rows` lines. The lines with the greatest share of the
/// processor time or of the time that passed are written.
pub fn text(profile: &Profile, rows: usize) -> String {
    let mut out = String::new();
    facts(profile, &mut out);
    if profile.observations.is_empty() {
        out.push_str("nothing ran: no samples\n");
        return out;
    }
    for grouping in [Grouping::Sub, Grouping::Line] {
        let all = tallies(profile, |frame| grouping.name(profile, frame));
        table(profile, grouping.word(), &all, rows, &mut out);
    }
    out
}

/// The subs with the most time first.
pub fn tallies_by_sub(profile: &Profile) -> Vec<(String, SampleTally)> {
    tallies(profile, |frame| Grouping::Sub.name(profile, frame))
}

fn facts(profile: &Profile, out: &mut String) {
    let facts = &profile.facts;
    let _ = writeln!(
        out,
        "{} samples of {} in {:.1} s at {:.0} Hz ({}): {:.2} s on a core, {:.2} s waiting for one",
        profile.samples(),
        counted(facts.processes, "process"),
        facts.seconds,
        facts.rate,
        facts.perls.join(", "),
        facts.cpu_seconds,
        facts.queue_seconds,
    );
    let mut notes = Vec::new();
    for (count, what) in [
        (facts.idle, "of idle workers"),
        (facts.other, "of other requests"),
        (facts.torn, "discarded: the stack changed during the read"),
        (facts.unnamed, "discarded: a name had gone"),
    ] {
        if count > 0 {
            notes.push(format!("{count} {what}"));
        }
    }
    if facts.ended > 0 {
        notes.push(format!(
            "{} ended",
            counted(facts.ended as usize, "process")
        ));
    }
    notes.extend(facts.refused.as_deref().map(shown));
    if !notes.is_empty() {
        let _ = writeln!(out, "besides: {}", notes.join("; "));
    }
}

pub fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}es"),
    }
}

/// Counts the observations by name. Of a stack the innermost frame with a name gets its own time.
fn tallies(profile: &Profile, name: impl Fn(u32) -> Option<String>) -> Vec<(String, SampleTally)> {
    let mut tallies: HashMap<String, SampleTally> = HashMap::new();
    for (stack, (cpu, wall)) in profile.weights() {
        let mut seen = HashSet::new();
        for &frame in profile.stacks[stack as usize].iter().rev() {
            let Some(name) = name(frame) else { continue };
            let is_own = seen.is_empty();
            if seen.insert(name.clone()) {
                let tally = tallies.entry(name).or_default();
                tally.cpu += cpu;
                tally.wall += wall;
                tally.own_cpu += if is_own { cpu } else { 0 };
                tally.own_wall += if is_own { wall } else { 0 };
            }
        }
    }
    let mut tallies: Vec<_> = tallies.into_iter().collect();
    tallies.sort_by(|one, other| {
        let key = |it: &SampleTally| (it.own_cpu, it.own_wall, it.wall);
        key(&other.1)
            .cmp(&key(&one.1))
            .then_with(|| one.0.cmp(&other.0))
    });
    tallies
}

fn table(
    profile: &Profile,
    what: &str,
    all: &[(String, SampleTally)],
    rows: usize,
    out: &mut String,
) {
    let running = profile.running() as f64;
    let share = |count: u64| 100.0 * count as f64 / running.max(1.0);
    let (cpu, wall) = (profile.cpu_weight(), profile.wall_weight());
    let _ = writeln!(
        out,
        "\n{:>7} {:>8} {:>8} {:>8} {:>8}  {what}",
        "own %", "own cpu", "cpu", "own wall", "wall"
    );
    for (name, tally) in greatest(all, rows) {
        let _ = writeln!(
            out,
            "{:>6.1}% {:>8.3} {:>8.3} {:>8.3} {:>8.3}  {name}",
            share(tally.own_cpu),
            tally.own_cpu as f64 * cpu,
            tally.cpu as f64 * cpu,
            tally.own_wall as f64 * wall,
            tally.wall as f64 * wall,
        );
    }
    if all.len() > rows {
        let _ = writeln!(out, "{:>36}  and {} more", "", all.len() - rows);
    }
}

/// Returns the `rows` names with the greatest own share of the processor time or of the time that
/// passed, in the order of `all`. A line that only waits has no processor time, and may still be
/// the reason why a page is slow.
fn greatest(all: &[(String, SampleTally)], rows: usize) -> Vec<&(String, SampleTally)> {
    let sum = |own: fn(&SampleTally) -> u64| {
        let sum: u64 = all.iter().map(|(_, tally)| own(tally)).sum();
        sum.max(1) as f64
    };
    let (cpu, wall) = (sum(|it| it.own_cpu), sum(|it| it.own_wall));
    let share = |it: &SampleTally| (it.own_cpu as f64 / cpu).max(it.own_wall as f64 / wall);
    let mut places: Vec<usize> = (0..all.len()).collect();
    places.sort_by(|&one, &other| share(&all[other].1).total_cmp(&share(&all[one].1)));
    places.truncate(rows);
    places.sort_unstable();
    places.into_iter().map(|place| &all[place]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_that_only_waits_is_among_the_written_ones() {
        let busy = (1..=30u64).map(|count| (format!("busy:{count}"), count, count));
        let waiting = [("wait:1".to_owned(), 0, 100)];
        let all: Vec<_> = busy
            .rev()
            .chain(waiting)
            .map(|(name, own_cpu, own_wall)| {
                let tally = SampleTally {
                    own_cpu,
                    cpu: own_cpu,
                    own_wall,
                    wall: own_wall,
                };
                (name, tally)
            })
            .collect();
        let written: Vec<&str> = greatest(&all, 3).iter().map(|it| it.0.as_str()).collect();
        assert_eq!(written, ["busy:30", "busy:29", "wait:1"]);
    }
}

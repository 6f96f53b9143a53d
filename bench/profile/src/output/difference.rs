//! The difference of two profiles: tables on a terminal, and a page with a differential flame
//! graph.

use super::html::page;
use super::text::counted;
use crate::difference::{Clock, Difference, DifferenceRow};
use crate::grouping::Grouping;
use crate::profile::Profile;
use crate::tree::CallNode;
use serde_json::{json, Value};
use std::fmt::Write;

/// Rows of a table on the page.
const ROWS: usize = 50;

/// Writes both profiles' facts and the tables by sub and by line, each of at most `rows` lines.
pub fn difference_text(difference: &Difference<'_>, rows: usize) -> String {
    let mut out = String::new();
    let (before, after) = difference.rates();
    facts("before", difference.before, &mut out);
    facts("after", difference.after, &mut out);
    let clock = match difference.clock {
        Clock::Cpu => "on a core",
        Clock::Wall => "by the wall clock",
    };
    let _ = writeln!(
        out,
        "time {clock}: {before:.1} ms per second before, {after:.1} ms per second after"
    );
    for grouping in [Grouping::Sub, Grouping::Line] {
        table(grouping, &difference.rows(grouping), rows, &mut out);
    }
    out
}

fn facts(word: &str, profile: &Profile, out: &mut String) {
    let facts = &profile.facts;
    let _ = writeln!(
        out,
        "{word}: {} samples of {} in {:.1} s at {:.0} Hz ({})",
        profile.samples(),
        counted(facts.processes, "process"),
        facts.seconds,
        facts.rate,
        facts.perls.join(", "),
    );
}

fn table(grouping: Grouping, all: &[DifferenceRow], rows: usize, out: &mut String) {
    let _ = writeln!(
        out,
        "\n{:>7} {:>7} {:>7} {:>17} {:>6} {:>11} {:>10}  {}",
        "before",
        "after",
        "points",
        "95 % interval",
        "proven",
        "ms/s before",
        "ms/s after",
        grouping.word(),
    );
    for row in all.iter().take(rows) {
        let interval = format!("{:+.1} to {:+.1}", 100.0 * row.low, 100.0 * row.high);
        let _ = writeln!(
            out,
            "{:>6.1}% {:>6.1}% {:>+7.1} {interval:>17} {:>6} {:>11.1} {:>10.1}  {}",
            100.0 * row.before.share,
            100.0 * row.after.share,
            100.0 * row.difference(),
            if row.is_proven() { "yes" } else { "no" },
            row.before.rate,
            row.after.rate,
            row.name,
        );
    }
    if all.len() > rows {
        let _ = writeln!(out, "{:>72}  and {} more", "", all.len() - rows);
    }
}

/// Writes the page. The widths are those after; a switch shows those before.
pub fn difference_html(difference: &Difference<'_>) -> String {
    let (before, after) = (difference.before, difference.after);
    let both = merged(Some(&CallNode::of(before)), Some(&CallNode::of(after)));
    let data = json!({
        "clock": match difference.clock { Clock::Cpu => "c", Clock::Wall => "w" },
        "cpuWeight": after.cpu_weight(),
        "wallWeight": after.wall_weight(),
        "before": {"cpuWeight": before.cpu_weight(), "wallWeight": before.wall_weight()},
        "root": both,
    });
    page(
        "Difference of two profiles",
        &data,
        &difference_text(difference, ROWS),
    )
}

/// A call in one of the profiles or in both. Capital letters are the counts before.
fn merged(before: Option<&CallNode>, after: Option<&CallNode>) -> Value {
    let Some(any) = after.or(before) else {
        return Value::Null;
    };
    let (old, new) = (callees(before), callees(after));
    let is_same =
        |one: &CallNode, other: &CallNode| one.name == other.name && one.kind == other.kind;
    let mut all: Vec<Value> = new
        .iter()
        .map(|is| merged(old.iter().find(|was| is_same(was, is)), Some(is)))
        .collect();
    let gone = old
        .iter()
        .filter(|was| !new.iter().any(|is| is_same(was, is)));
    all.extend(gone.map(|was| merged(Some(was), None)));
    let count = |node: Option<&CallNode>| node.map_or((0, 0), |it| (it.cpu, it.wall));
    let ((old_cpu, old_wall), (cpu, wall)) = (count(before), count(after));
    json!({
        "n": any.name,
        "k": any.kind.word(),
        "c": cpu, "w": wall, "C": old_cpu, "W": old_wall,
        "l": [],
        "s": all,
    })
}

fn callees(node: Option<&CallNode>) -> &[CallNode] {
    node.map_or(&[], |node| &node.callees)
}

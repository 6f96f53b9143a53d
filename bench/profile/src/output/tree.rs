//! The call tree as text, as `dprofpp -T` prints it, and dprofpp's own table.

use super::text::{shown, tallies_by_sub};
use crate::profile::Profile;
use crate::tree::CallNode;
use std::fmt::Write;

/// Writes the tree; calls below a thousandth of the time are left out.
pub fn tree(profile: &Profile) -> String {
    let root = CallNode::of(profile);
    let mut out = format!("{:>8} {:>8}  call\n", "cpu s", "wall s");
    let least = root.wall / 1000;
    for callee in &root.callees {
        branch(profile, callee, 0, least, &mut out);
    }
    out
}

fn branch(profile: &Profile, node: &CallNode, depth: usize, least: u64, out: &mut String) {
    if node.wall <= least {
        return;
    }
    let _ = writeln!(
        out,
        "{:>8.3} {:>8.3}  {}{}",
        node.cpu as f64 * profile.cpu_weight(),
        node.wall as f64 * profile.wall_weight(),
        "   ".repeat(depth),
        shown(&node.name),
    );
    for callee in &node.callees {
        branch(profile, callee, depth + 1, least, out);
    }
}

/// Writes dprofpp's table. Sampling counts no calls, so the column has a dash.
pub fn dprofpp(profile: &Profile, rows: usize) -> String {
    let facts = &profile.facts;
    let mut out = format!(
        "Total Elapsed Time = {:.6} Seconds\n  User+System Time = {:.6} Seconds\nExclusive Times\n\
         %Time ExclSec CumulS #Calls sec/call Csec/c  Name\n",
        facts.seconds, facts.cpu_seconds
    );
    let weight = profile.cpu_weight();
    let all = profile.running().max(1) as f64;
    for (name, tally) in tallies_by_sub(profile).iter().take(rows) {
        if tally.own_cpu == 0 && tally.cpu == 0 {
            continue;
        }
        let _ = writeln!(
            out,
            "{:>5.1} {:>7.3} {:>6.3} {:>6} {:>8} {:>6}  {name}",
            100.0 * tally.own_cpu as f64 / all,
            tally.own_cpu as f64 * weight,
            tally.cpu as f64 * weight,
            "-",
            "-",
            "-",
        );
    }
    out
}

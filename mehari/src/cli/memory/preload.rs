//! Advises the modules that the configuration should load before the fork (`PerlModule`).

use super::MemoryOptions;
use crate::cli::control;
use crate::cli::status::size;
use mehari_memory::{parent, LatePreload, PreloadAdvice};
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// The most workers of one zygote that are read. The workers with the most requests are read,
/// because they have loaded the most modules.
const MOST_WORKERS: usize = 4;

/// What one zygote could load for its workers.
struct ZygoteAdvice {
    zygote: u32,
    workers: usize,
    advice: Vec<PreloadAdvice>,
    failures: Vec<String>,
}

/// Returns the table, or the same figures as JSON.
pub fn shown(options: &MemoryOptions) -> Result<String, String> {
    let status = control::ask(options.control.as_deref(), "status")?;
    let mut all = Vec::new();
    for (zygote, workers) in workers_by_zygote(&status) {
        all.push(advised(zygote, &workers, options.rounds)?);
    }
    match (&all[..], options.json) {
        ([], _) => Err("the server has no worker yet".to_owned()),
        (all, true) => Ok(format!("{:#}\n", json!({ "zygotes": as_json(all) }))),
        (all, false) => Ok(all.iter().map(table).collect()),
    }
}

fn workers_by_zygote(status: &Value) -> BTreeMap<u32, Vec<u32>> {
    let workers = status["pool"]["workers"].as_array().into_iter().flatten();
    let mut workers: Vec<&Value> = workers.collect();
    workers.sort_by_key(|worker| std::cmp::Reverse(worker["served"].as_u64()));
    let mut zygotes: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for worker in workers {
        let pid = worker["pid"].as_u64().and_then(|pid| pid.try_into().ok());
        let both = pid.and_then(|pid| Some((parent(pid)?, pid)));
        if let Some((zygote, pid)) = both {
            let workers = zygotes.entry(zygote).or_default();
            if workers.len() < MOST_WORKERS {
                workers.push(pid);
            }
        }
    }
    zygotes
}

fn advised(zygote: u32, workers: &[u32], rounds: u32) -> Result<ZygoteAdvice, String> {
    let perl = PathBuf::from(format!("/proc/{zygote}/exe"));
    let late = LatePreload::of(zygote, workers, perl).map_err(|error| error.to_string())?;
    let measured = late.measured(rounds).map_err(|error| error.to_string())?;
    Ok(ZygoteAdvice {
        zygote,
        workers: workers.len(),
        advice: measured.0,
        failures: measured.1,
    })
}

fn as_json(all: &[ZygoteAdvice]) -> Vec<Value> {
    let one = |it: &ZygoteAdvice| {
        json!({ "zygote": it.zygote, "workers": it.workers, "advice": it.advice,
                "not_measured": it.failures })
    };
    all.iter().map(one).collect()
}

fn table(all: &ZygoteAdvice) -> String {
    let mut text = format!(
        "{} workers of zygote {} were read\n",
        all.workers, all.zygote
    );
    if all.advice.is_empty() {
        text += "these workers have loaded no module that a trial can load before the fork\n";
    } else {
        let _ = writeln!(
            text,
            "\n{:>10} {:>9} {:>8}  line for the configuration, and what else it loads before the fork",
            "saves", "and", "workers"
        );
    }
    for one in &all.advice {
        let _ = writeln!(
            text,
            "{:>10} {:>6.1} ms {:>8}  PerlModule {}",
            size(&json!(one.bytes.round())),
            one.ms,
            one.workers,
            one.module
        );
        if !one.brings.is_empty() {
            let _ = writeln!(text, "{:>31}{}", "", one.brings.join(" "));
        }
    }
    for failure in &all.failures {
        let _ = writeln!(text, "not measured: {failure}");
    }
    text
}

//! Shows the memory of each Perl process of a server, as the kernel counts it now.

use crate::cli::status::size;
use mehari_console::processes_below;
use mehari_pool::{MemoryFiles, PoolMemory, ProcessMemory};
use serde::Serialize;
use serde_json::{json, Value};
use std::fmt::Write;

/// One process. Sizes are in bytes.
#[derive(Serialize)]
struct PerlMemory {
    pid: u32,
    /// `worker`, or the kernel's name of another process of Perl.
    role: String,
    #[serde(flatten)]
    now: ProcessMemory,
    /// As in `mehari status`; of workers only.
    unshared: Option<u64>,
    growth_per_request: Option<u64>,
    served: Option<u64>,
}

/// Returns the table, or the same figures as JSON.
pub fn shown(status: &Value, is_json: bool) -> Result<String, String> {
    let front = status["pid"].as_u64().and_then(|pid| pid.try_into().ok());
    let front: u32 = front.ok_or("the server does not tell its process")?;
    let below = processes_below(front);
    let processes: Vec<PerlMemory> = below
        .into_iter()
        .filter_map(|pid| PerlMemory::of(pid, &status["pool"]["workers"]))
        .collect();
    if processes.is_empty() {
        return Err(format!(
            "no memory of a Perl process of server {front} can be read: it has none, or it is another user's"
        ));
    }
    let all: Vec<ProcessMemory> = processes.iter().map(|it| it.now).collect();
    let files = MemoryFiles::of(front, processes.iter().map(|it| it.pid));
    let sum = PoolMemory::of(&all, &files);
    if is_json {
        let report = json!({
            "processes": processes,
            "sum": { "processes": sum.processes, "pss": sum.pss, "freed": sum.freed, "formula": sum.formula,
                     "formula_error": formula_error(&sum) },
        });
        return Ok(format!("{report:#}\n"));
    }
    Ok(table(&processes, &sum))
}

impl PerlMemory {
    /// `None`: the process has gone, runs no Perl, or belongs to another user.
    fn of(pid: u32, workers: &Value) -> Option<PerlMemory> {
        let now = ProcessMemory::of(pid)?;
        let mut all = workers.as_array().into_iter().flatten();
        let worker = all.find(|worker| worker["pid"] == pid);
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        let role = match worker {
            Some(_) => "worker".to_owned(),
            None => name.trim_end().to_owned(),
        };
        let number = |part: &str, name: &str| worker?.pointer(part)?[name].as_u64();
        Some(PerlMemory {
            pid,
            role,
            now,
            unshared: number("/memory", "unshared"),
            growth_per_request: number("/memory", "growth_per_request"),
            served: number("", "served"),
        })
    }
}

/// Returns the error of the mod_perl guide's formula, in percent of the real sum.
fn formula_error(sum: &PoolMemory) -> f64 {
    100.0 * (sum.formula as f64 / (sum.pss as f64).max(1.0) - 1.0)
}

fn table(processes: &[PerlMemory], sum: &PoolMemory) -> String {
    let mut text = String::new();
    let heads = [
        "rss", "pss", "private", "shared", "unshared", "growth", "served",
    ];
    let _ = write!(text, "{:>8}  {:<15}", "process", "");
    for head in heads {
        let _ = write!(text, " {head:>10}");
    }
    text.push('\n');
    for process in processes {
        let _ = write!(text, "{:>8}  {:<15}", process.pid, process.role);
        let ProcessMemory {
            rss,
            pss,
            private,
            shared,
            ..
        } = process.now;
        for bytes in [
            Some(rss),
            Some(pss),
            Some(private),
            Some(shared),
            process.unshared,
            process.growth_per_request,
        ] {
            let _ = write!(text, " {:>10}", size(&json!(bytes)));
        }
        let served = process
            .served
            .map_or("-".to_owned(), |count| count.to_string());
        let _ = writeln!(text, " {served:>10}");
    }
    let _ = writeln!(
        text,
        "\n{} in all (the sum of pss)\n\
         {} are free again when these {} processes end: no pages of files, but the kernel's tables\n\
         {} by the mod_perl guide's formula (the largest shared + the sum of rss - shared): {:+.1} %",
        size(&json!(sum.pss)),
        size(&json!(sum.freed)),
        sum.processes,
        size(&json!(sum.formula)),
        formula_error(sum)
    );
    text
}

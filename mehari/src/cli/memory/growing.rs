//! Looks at a process twice and shows the variables that have grown.

use super::MemoryOptions;
use crate::cli::control;
use crate::cli::interrupt;
use crate::cli::status::size;
use mehari_memory::{leaks, Heap, Leak};
use mehari_profile::PerlProcess;
use serde_json::{json, Value};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What the two looks saw.
struct Comparison {
    pid: u32,
    /// The requests between the looks. `None`: the process is no worker of a server.
    requests: Option<u64>,
    values: [usize; 2],
    /// Whether the process ran during a look.
    is_torn: bool,
    leaks: Vec<Leak>,
}

/// Returns the table, or the same figures as JSON.
pub fn shown(options: &MemoryOptions) -> Result<String, String> {
    let compared = compared(options)?;
    if options.json {
        let report = json!({
            "pid": compared.pid, "requests": compared.requests, "values": compared.values,
            "torn": compared.is_torn, "leaks": compared.leaks,
        });
        return Ok(format!("{report:#}\n"));
    }
    Ok(compared.table(options.rows))
}

fn compared(options: &MemoryOptions) -> Result<Comparison, String> {
    let (pid, served) = chosen(options)?;
    // The handlers stand before the line below invites a Ctrl-C.
    let is_over = interrupt::flag()?;
    let process = PerlProcess::open(pid).map_err(|error| error.to_string())?;
    let before = Heap::of(&process).map_err(|error| error.to_string())?;
    eprintln!(
        "mehari memory: {} values in process {pid}; the second look follows in {:?}, or at Ctrl-C",
        before.values.len(),
        options.duration
    );
    wait(options.duration, &is_over);
    let after = Heap::of(&process).map_err(|error| error.to_string())?;
    let requests = match served {
        Some(served) => Some(served_by(options, pid)?.saturating_sub(served)),
        None => None,
    };
    Ok(Comparison {
        pid,
        requests,
        values: [before.values.len(), after.values.len()],
        is_torn: before.memory.is_torn || after.memory.is_torn,
        leaks: leaks(&before, &after),
    })
}

/// Returns the process, and the requests that it has served if it is a worker.
pub fn chosen(options: &MemoryOptions) -> Result<(u32, Option<u64>), String> {
    if let Some(pid) = options.pid {
        return Ok((pid, None));
    }
    let status = control::ask(options.control.as_deref(), "status")?;
    if let Some(pid) = options.worker {
        return Ok((pid, Some(served_by(options, pid)?)));
    }
    let workers = status["pool"]["workers"].as_array().into_iter().flatten();
    let most = workers.max_by_key(|worker| worker["served"].as_u64());
    let most = most.ok_or("the server has no worker yet")?;
    let pid = most["pid"].as_u64().and_then(|pid| pid.try_into().ok());
    let pid = pid.ok_or("the server does not tell its workers")?;
    Ok((pid, most["served"].as_u64()))
}

pub fn served_by(options: &MemoryOptions, pid: u32) -> Result<u64, String> {
    let status = control::ask(options.control.as_deref(), "status")?;
    let mut workers = status["pool"]["workers"].as_array().into_iter().flatten();
    let worker = workers.find(|worker| worker["pid"] == pid);
    let served = worker.and_then(|worker: &Value| worker["served"].as_u64());
    served.ok_or_else(|| format!("the server has no worker {pid}"))
}

/// Waits for the second look: for the time, or until Ctrl-C.
fn wait(duration: Duration, is_over: &AtomicBool) {
    let begun = Instant::now();
    while begun.elapsed() < duration && !is_over.load(Ordering::Relaxed) {
        let left = duration.saturating_sub(begun.elapsed());
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
}

impl Comparison {
    fn table(&self, rows: usize) -> String {
        let mut text = match self.requests {
            Some(requests) => format!("worker {}: {requests} requests", self.pid),
            None => format!("process {}", self.pid),
        };
        let [before, after] = self.values;
        let _ = writeln!(
            text,
            " between the two looks, {before} values and then {after}"
        );
        if self.is_torn {
            text += "the process ran during a look: small figures may be wrong\n";
        }
        if self.leaks.is_empty() {
            return text + "no variable has grown by 1 KiB\n";
        }
        let _ = writeln!(
            text,
            "\n{:>10} {:>10} {:>9}  {:<11}  variable, and where Perl code changes it",
            "grown", "a request", "elements", "kind"
        );
        for leak in self.leaks.iter().take(rows) {
            self.row(leak, &mut text);
        }
        text
    }

    fn row(&self, leak: &Leak, text: &mut String) {
        let requests = self.requests.filter(|&requests| requests > 0);
        let each = requests.map(|requests| leak.bytes / requests as i64);
        let _ = writeln!(
            text,
            "{:>10} {:>10} {:>+9}  {:<11}  {}",
            size(&json!(leak.bytes)),
            size(&json!(each)),
            leak.elements,
            leak.kind,
            leak.name
        );
        for site in &leak.sites {
            let _ = writeln!(text, "{:>45}  {}:{}", "", site.file, site.line);
        }
    }
}

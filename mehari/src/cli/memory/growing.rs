//! Looks at a process twice and shows the variables that have grown.

use super::MemoryOptions;
use crate::cli::control;
use crate::cli::growth::{busiest, Counted, FirstLooks, Growth};
use crate::cli::interrupt;
use crate::cli::status::size;
use mehari_memory::Leak;
use serde_json::{json, Value};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

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
    Ok(table(&compared, options.rows))
}

fn compared(options: &MemoryOptions) -> Result<Growth, String> {
    let status = || control::ask(options.control.as_deref(), "status");
    let processes = match options.pid {
        Some(pid) => vec![Counted { pid, served: None }],
        None => chosen(options, &status()?)?,
    };
    // The handlers stand before the line below invites a Ctrl-C.
    let is_over = interrupt::flag()?;
    let looks = FirstLooks::at(processes)?;
    eprintln!(
        "mehari memory: {}; the second look follows in {:?}, or at Ctrl-C",
        looks.told(),
        options.duration
    );
    wait(options.duration, &is_over);
    match options.pid {
        Some(_) => looks.again(&Value::Null),
        None => looks.again(&status()?),
    }
}

/// Returns the worker that the options name, or those that have served most.
pub fn chosen(options: &MemoryOptions, status: &Value) -> Result<Vec<Counted>, String> {
    let workers = busiest(status);
    let Some(pid) = options.worker else {
        return Ok(workers);
    };
    let named: Vec<Counted> = workers.into_iter().filter(|it| it.pid == pid).collect();
    if named.is_empty() {
        return Err(format!("the server has no worker {pid}"));
    }
    Ok(named)
}

/// Waits for the second look: for the time, or until Ctrl-C.
fn wait(duration: Duration, is_over: &AtomicBool) {
    let begun = Instant::now();
    while begun.elapsed() < duration && !is_over.load(Ordering::Relaxed) {
        let left = duration.saturating_sub(begun.elapsed());
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
}

fn table(compared: &Growth, rows: usize) -> String {
    let mut text = match compared.requests {
        Some(requests) => format!("worker {}: {requests} requests", compared.pid),
        None => format!("process {}", compared.pid),
    };
    let [before, after] = compared.values;
    let _ = writeln!(
        text,
        " between the two looks, {before} values and then {after}"
    );
    if compared.is_torn {
        text += "the process ran during a look: small figures may be wrong\n";
    }
    if compared.leaks.is_empty() {
        return text + "no variable has grown by 1 KiB\n";
    }
    let _ = writeln!(
        text,
        "\n{:>10} {:>10} {:>9}  {:<11}  variable, and where Perl code changes it",
        "grown", "a request", "elements", "kind"
    );
    for leak in compared.leaks.iter().take(rows) {
        row(compared.requests, leak, &mut text);
    }
    text
}

fn row(requests: Option<u64>, leak: &Leak, text: &mut String) {
    let requests = requests.filter(|&requests| requests > 0);
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

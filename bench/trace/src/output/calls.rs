//! The system calls of one request, for a terminal and as JSON.

use super::text::shown;
use super::{json::json as anatomy_json, microseconds, milliseconds};
use crate::anatomy::Anatomy;
use crate::calls::{CallReport, ProcessCalls, RecordedCall, Role};
use serde_json::{json, Value};
use std::fmt::Write as _;
use std::io;

/// Writes the calls by name, and then the calls about files as a timeline. Times are in
/// milliseconds.
pub fn calls_text(anatomy: &Anatomy, report: &CallReport) -> String {
    let mut text = format!(
        "{} {}\nstatus {}, request {} from {}: {} ms while its calls were watched\n",
        shown(&anatomy.method),
        shown(&anatomy.target),
        anatomy.status,
        anatomy.request_id,
        shown(&anatomy.client),
        milliseconds(report.took),
    );
    for process in &report.processes {
        put_process(&mut text, process);
    }
    put_files(&mut text, report);
    let _ = writeln!(
        text,
        "\nEach call stopped its process twice. The quickest call took {} µs. At most this much of each\n\
         time above is the cost of watching. Calls of the server for other requests at the same time\n\
         are among them.",
        microseconds(report.quickest),
    );
    if report.left_out > 0 {
        let _ = writeln!(text, "{} further calls were not kept.", report.left_out);
    }
    text
}

fn title(process: &ProcessCalls) -> String {
    let role = role(process.role);
    format!("{role} {}", process.process)
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Front => "server",
        Role::Worker => "worker",
        Role::Program => "program",
    }
}

fn put_process(text: &mut String, process: &ProcessCalls) {
    let count: u64 = process.sums.iter().map(|(_, sum)| sum.count).sum();
    let took: u64 = process.sums.iter().map(|(_, sum)| sum.took).sum();
    let _ = writeln!(
        text,
        "\n{}: {count} calls, {} ms\n\n{:>8} {:>8} {:>8}  call",
        title(process),
        milliseconds(took),
        "count",
        "took",
        "errors"
    );
    for (name, sum) in &process.sums {
        let took = milliseconds(sum.took);
        let _ = writeln!(text, "{:>8} {took:>8} {:>8}  {name}", sum.count, sum.errors);
    }
}

fn put_files(text: &mut String, report: &CallReport) {
    if report.files.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\nfiles\n\n{:>8} {:>8} {:>9}  call",
        "from", "took", "process"
    );
    for call in &report.files {
        let from = milliseconds(call.from.saturating_sub(report.began));
        let _ = writeln!(
            text,
            "{from:>8} {:>8} {:>9}  {} {} = {}",
            milliseconds(call.took()),
            call.process,
            call.name,
            shown(&path(call)),
            result(call),
        );
    }
}

fn path(call: &RecordedCall) -> String {
    let path = call.subject.as_deref();
    path.unwrap_or_else(|| "".as_ref())
        .to_string_lossy()
        .into_owned()
}

/// Returns the result, or the error in words. `mmap` and the like return an address.
fn result(call: &RecordedCall) -> String {
    if !call.is_error {
        return match call.name {
            "mmap" => format!("{:#x}", call.result),
            _ => call.result.to_string(),
        };
    }
    let number = i32::try_from(-call.result).unwrap_or_default();
    let words = io::Error::from_raw_os_error(number).to_string();
    words
        .split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Returns the anatomy with its calls. Times are microseconds.
pub fn calls_json(anatomy: &Anatomy, report: &CallReport) -> Value {
    let processes: Vec<Value> = report.processes.iter().map(process_json).collect();
    let files = report.files.iter().map(|call| {
        json!({
            "from_us": microseconds(call.from.saturating_sub(report.began)),
            "us": microseconds(call.took()),
            "process": call.process,
            "name": call.name,
            "path": path(call),
            "result": result(call),
            "failed": call.is_error,
        })
    });
    let mut all = anatomy_json(anatomy);
    all["calls"] = json!({
        "processes": processes,
        "files": files.collect::<Vec<_>>(),
        "quickest_us": microseconds(report.quickest),
        "left_out": report.left_out,
    });
    all
}

fn process_json(process: &ProcessCalls) -> Value {
    let calls = process.sums.iter().map(|(name, sum)| {
        json!({
            "name": name,
            "count": sum.count,
            "us": microseconds(sum.took),
            "errors": sum.errors,
        })
    });
    json!({
        "role": role(process.role),
        "process": process.process,
        "calls": calls.collect::<Vec<_>>(),
    })
}

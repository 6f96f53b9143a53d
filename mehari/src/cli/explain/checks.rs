//! Names what makes a rewind dearer: the checks after each rewind, and the libraries that demand
//! them.

use super::text::{list, word};
use serde_json::Value;
use std::fmt::Write;

/// Names the checks after each rewind. The figures were measured for this answer.
pub fn tell(answer: &Value, text: &mut String) {
    let explanation = &answer["explanation"];
    let mut checks = list(&explanation["checks"]).peekable();
    if list(&answer["places"]).all(|place| place["rung"] != "rewind") {
        return;
    }
    if checks.peek().is_none() {
        text.push_str("  no library makes a rewind dearer by a check after each request\n");
        return;
    }
    let all = microseconds(&explanation["checks_ns"]);
    let _ = writeln!(
        text,
        "  checked after each request, because a library may change it unnoticed ({all} us here):"
    );
    for check in checks {
        let of = word(&check["of"]);
        let took = microseconds(&check["ns"]);
        let demands: Vec<String> = list(&check["demanded_by"]).map(demand).collect();
        let _ = writeln!(text, "    {of} ({took} us): {}", demands.join(", "));
    }
}

fn demand(demand: &Value) -> String {
    match (word(&demand["file"]), word(&demand["import"])) {
        (file, "") => format!("{file} is open"),
        (file, import) => {
            let name = file.rsplit('/').next().unwrap_or(file);
            format!("{name} imports {import}")
        }
    }
}

fn microseconds(nanoseconds: &Value) -> String {
    let nanoseconds = nanoseconds.as_u64().unwrap_or_default();
    format!("{:.1}", nanoseconds as f64 / 1_000.0)
}

/// What is checked after each rewind, as a worker has reported. `None`: nothing.
pub fn of_process(process: &Value) -> Option<String> {
    let (checks, loaded) = (word(&process["checks"]), word(&process["loaded_library"]));
    let mut all = Vec::new();
    match (checks, word(&process["dearest_library"])) {
        ("", _) => {}
        (_, "") => all.push(format!("checked after each rewind: {checks}")),
        (_, library) => all.push(format!(
            "checked after each rewind: {checks} (most of it for {library})"
        )),
    }
    if !loaded.is_empty() {
        all.push(format!(
            "everything is checked after a request that loads a library, such as {loaded}"
        ));
    }
    Some(all.join("; ")).filter(|text| !text.is_empty())
}

//! The answer of `mehari explain` as text.

use super::checks;
use serde_json::Value;
use std::fmt::Write;

/// The text of an answer, from this process or from the server.
pub fn of(answer: &Value) -> String {
    if answer["ok"] != true {
        return super::control::message(answer);
    }
    let mut text = format!("{}\n", word(&answer["file"]));
    for place in list(&answer["places"]) {
        tell_place(place, &mut text);
    }
    if let Some(problem) = answer["problem"].as_str() {
        let _ = writeln!(text, "  no look into the script: {problem}");
    }
    let explanation = &answer["explanation"];
    if explanation.is_object() {
        tell_costs(answer, &mut text);
        checks::tell(answer, &mut text);
        tell_findings(explanation, &mut text);
    }
    for process in list(&answer["processes"]) {
        tell_process(process, &mut text);
    }
    text
}

fn tell_place(place: &Value, text: &mut String) {
    let host = match word(&place["host"]) {
        "" => "main server",
        host => host,
    };
    let (path, handler) = (word(&place["url_path"]), word(&place["handler"]));
    let _ = write!(text, "  {path} ({host}): {handler}");
    if place["rung"] != place["configured"] {
        let _ = write!(text, ", which is `{}` here", word(&place["rung"]));
    }
    text.push('\n');
    if let Some(why) = place["why"].as_str() {
        let _ = writeln!(text, "  reason: {why}");
    }
}

/// The figures were measured for this answer.
fn tell_costs(answer: &Value, text: &mut String) {
    let explanation = &answer["explanation"];
    if let Some(status) = explanation["broken"].as_u64() {
        let _ = writeln!(
            text,
            "  the script does not compile: requests answer {status}; the error log has the reason"
        );
    }
    let fork = &explanation["fork_us"];
    if list(&answer["places"]).any(|place| place["rung"] == "fork") {
        let _ = writeln!(
            text,
            "  cost: each request forks a process, which takes at least {fork} us here"
        );
    } else {
        let kib = |name: &str| explanation[name].as_u64().unwrap_or_default() * 4;
        let (own, shared) = (kib("picture_pages"), kib("shared_pages"));
        let _ = writeln!(
            text,
            "  cost: a picture of {own} KiB in each worker that runs the script, beside {shared} \
             KiB that all scripts share; on `fork` each request would also take the {fork} us or \
             more of a fork"
        );
    }
    let again = &explanation["each_request_compiles"];
    if again.is_object() {
        let place = match again["line"].as_u64() {
            None | Some(0) => "in a module".to_owned(),
            Some(line) => format!("at line {line}"),
        };
        let _ = writeln!(
            text,
            "  each request compiles the script ({} us): compiling has effects, the first {place}",
            again["compile_us"]
        );
    }
}

fn tell_findings(explanation: &Value, text: &mut String) {
    if let Some(failure) = explanation["failure"].as_str() {
        let _ = writeln!(text, "  the code was not looked through: {failure}");
        return;
    }
    let mut findings = list(&explanation["findings"]).peekable();
    if findings.peek().is_none() {
        text.push_str(
            "  nothing in the code of the script and its own modules can cost the rung\n",
        );
        return;
    }
    text.push_str("  what may cost the rung `rewind`, if a request comes there:\n");
    for finding in findings {
        let effect = match word(&finding["effect"]) {
            "fork" => "the rung is `fork` from then on",
            _ => "the process is replaced; after the third time in a row the rung is `fork`",
        };
        let (file, line) = (word(&finding["file"]), &finding["line"]);
        let what = word(&finding["what"]);
        let _ = writeln!(text, "    {file} line {line}: {what}: {effect}");
    }
}

fn tell_process(process: &Value, text: &mut String) {
    let _ = write!(
        text,
        "  worker {}: `{}`, {} rewinds, {} hot pages, {} looks, {} replaced",
        process["worker"],
        word(&process["rung"]),
        process["rewinds"],
        process["hot_pages"],
        process["looks"],
        process["replaced"],
    );
    match word(&process["why"]) {
        "" => text.push('\n'),
        why => {
            let _ = writeln!(text, ": {why}");
        }
    }
    if let Some(checks) = checks::of_process(process) {
        let _ = writeln!(text, "    {checks}");
    }
}

pub(super) fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(super) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

//! `mehari status`: prints the state of the front and of each worker.

use super::control;
use serde_json::Value;
use std::ffi::OsString;
use std::fmt::Write;
use std::process::ExitCode;

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    control::command("status", arguments, show)
}

fn show(answer: &Value) -> String {
    let (front, pool) = (&answer["front"], &answer["pool"]);
    let mut text = format!(
        "pid {}, generation {}: {} connections open, {} requests so far, {} active, {} \
         waiting for a worker\n",
        answer["pid"],
        pool["generation"],
        front["open_connections"],
        front["requests"],
        pool["active_requests"],
        pool["queue"],
    );
    let before = &answer["predecessor"];
    if before.is_object() {
        let _ = writeln!(
            text,
            "pid {}, replaced by pid {}: {} connections open, {} active requests",
            before["pid"], answer["pid"], before["open_connections"], before["active_requests"],
        );
    }
    let teams: Vec<&Value> = pool["teams"].as_array().into_iter().flatten().collect();
    for team in &teams {
        tell_team(team, teams.len() > 1, &mut text);
    }
    text.push('\n');
    let rules = &front["traffic_rules"];
    let acted = rules.as_object().into_iter().flatten();
    if acted.clone().any(|(_, count)| count.as_u64() > Some(0)) {
        let told: Vec<String> = acted
            .map(|(rule, count)| format!("{} {count}", rule.replace('_', " ")))
            .collect();
        let _ = writeln!(text, "traffic rules: {}\n", told.join(", "));
    }
    let _ = writeln!(
        text,
        "{:>8}  {:<9} {:>4} {:>9} {:>10} {:>7} {:>10} {:>10} {:>9}{}",
        "worker",
        "state",
        "held",
        "running",
        "served",
        "age",
        "memory",
        "unshared",
        "growth",
        if teams.len() > 1 { "  host" } else { "" }
    );
    for worker in pool["workers"].as_array().into_iter().flatten() {
        let _ = writeln!(
            text,
            "{:>8}  {:<9} {:>4} {:>6} ms {:>10} {:>5} s {:>10} {:>10} {:>9}{}",
            worker["pid"].to_string(),
            worker["state"].as_str().unwrap_or_default(),
            worker["held"].to_string(),
            worker["running_ms"].to_string(),
            worker["served"].to_string(),
            worker["age_s"].to_string(),
            size(&worker["memory"]["pss"]),
            size(&worker["memory"]["unshared"]),
            size(&worker["memory"]["growth_per_request"]),
            match worker["team"]
                .as_u64()
                .and_then(|team| teams.get(team as usize))
            {
                Some(team) if teams.len() > 1 => format!("  {}", host_of(team)),
                _ => String::new(),
            }
        );
    }
    tell_memory(&pool["memory"], &mut text);
    tell_merged(&pool["memory"]["merged"], &mut text);
    let totals = &pool["totals"];
    tell_counts("workers replaced", &totals["replaced"], &mut text);
    tell_counts("requests refused", &totals["refusals"], &mut text);
    tell_deferred(&pool["deferred"], &mut text);
    scripts(&pool["scripts"], &mut text);
    tell_learned(&pool["learned"], &mut text);
    for group in answer["back_ends"].as_array().into_iter().flatten() {
        back_ends(group, &mut text);
    }
    tell_managed(&answer["managed"], &mut text);
    text
}

/// Writes the names, the end and the next renewal of each managed certificate, and the last error.
fn tell_managed(managed: &Value, text: &mut String) {
    let domains: Vec<&Value> = managed.as_array().into_iter().flatten().collect();
    if domains.is_empty() {
        return;
    }
    text.push_str("\nmanaged certificates:\n");
    for domain in domains {
        let names = domain["names"].as_array().into_iter().flatten();
        let names: Vec<&str> = names.filter_map(Value::as_str).collect();
        let expires = date(&domain["expires"])
            .map_or("no certificate yet".into(), |date| format!("ends {date}"));
        let next = match date(&domain["renews"]) {
            None => String::new(),
            Some(date) => format!(", next request {date}"),
        };
        let stapled = date(&domain["stapled_until"]);
        let stapled = stapled.map_or(String::new(), |date| format!(", OCSP until {date}"));
        let _ = writeln!(text, "  {}: {expires}{next}{stapled}", names.join(" "));
        if let Some(serial) = domain["revoking"].as_str() {
            let _ = writeln!(text, "    to be revoked and replaced: {serial}");
        }
        if let Some(error) = domain["error"].as_str() {
            let _ = writeln!(text, "    failed {} times: {error}", domain["failures"]);
        }
    }
}

/// Returns seconds since 1970 as a date.
fn date(seconds: &Value) -> Option<String> {
    let time = time::OffsetDateTime::from_unix_timestamp(seconds.as_i64()?).ok()?;
    let (date, hour, minute) = (time.date(), time.hour(), time.minute());
    Some(format!("{date} {hour:02}:{minute:02} UTC"))
}

/// Writes the memory of all processes of Perl, and what the mod_perl guide's formula says of it.
fn tell_memory(memory: &Value, text: &mut String) {
    let (pss, formula) = (memory["pss"].as_f64(), memory["formula"].as_f64());
    let (Some(pss @ 1.0..), Some(formula)) = (pss, formula) else {
        return;
    };
    let _ = writeln!(
        text,
        "\nmemory of the {} processes of Perl: {} in all; the formula shared + private says {} \
         ({:+.1} %)\nfree again when these processes end: {}",
        memory["processes"],
        size(&memory["pss"]),
        size(&memory["formula"]),
        100.0 * (formula / pss - 1.0),
        size(&memory["freed"]),
    );
}

/// Writes what the kernel's merging of equal pages saves.
fn tell_merged(merged: &Value, text: &mut String) {
    if let Some(bytes) = merged.as_i64() {
        let saved = size(&Value::from(bytes.max(0)));
        let _ = writeln!(text, "merging equal pages saves {saved}");
    }
}

/// Writes counts by their reason, such as how many workers ended because of each limit.
fn tell_counts(what: &str, by_reason: &Value, text: &mut String) {
    let all = by_reason.as_object().into_iter().flatten();
    let counts = all.filter(|(_, count)| count.as_u64() > Some(0));
    let told: Vec<String> = counts
        .map(|(reason, count)| format!("{} {count}", reason.replace('_', " ")))
        .collect();
    if !told.is_empty() {
        let _ = writeln!(text, "{what}: {}", told.join(", "));
    }
}

/// Writes what became of the calls that requests have deferred.
fn tell_deferred(deferred: &Value, text: &mut String) {
    let all = deferred.as_object().into_iter().flatten();
    let counts = all.filter(|(name, count)| count.as_u64() > Some(0) && *name != "waiting_bytes");
    let told: Vec<String> = counts
        .map(|(name, count)| format!("{} {count}", name.replace('_', " ")))
        .collect();
    if !told.is_empty() {
        let _ = writeln!(text, "deferred calls: {}", told.join(", "));
    }
}

/// Writes a number of bytes for people. A dash stands for an unknown number.
pub(super) fn size(bytes: &Value) -> String {
    const KIB: f64 = 1024.0;
    match bytes.as_f64() {
        None => "-".to_owned(),
        Some(bytes) if bytes < KIB => format!("{bytes} B"),
        Some(bytes) if bytes < KIB * KIB => format!("{:.1} KiB", bytes / KIB),
        Some(bytes) => format!("{:.1} MiB", bytes / KIB / KIB),
    }
}

/// Returns the name of the host that a team serves, or of its pool, or `main server`.
fn host_of(team: &Value) -> String {
    match (team["host"].as_str(), team["pool"] == true) {
        (None | Some(""), _) => "main server".to_owned(),
        (Some(name), true) => format!("pool {name}"),
        (Some(host), false) => host.to_owned(),
    }
}

/// Describes a team: the number of its workers, the reason for this number, and problems.
fn tell_team(team: &Value, is_one_of_many: bool, text: &mut String) {
    if is_one_of_many {
        let _ = write!(
            text,
            "{} ({} busy, {} idle, {} waiting): ",
            match team["user"].as_str() {
                Some(user) => format!("{} as {user}", host_of(team)),
                None => host_of(team),
            },
            team["busy"],
            team["idle"],
            team["queue"]
        );
    }
    let reasoning = team["plan"]["reasoning"].as_str().unwrap_or_default();
    let _ = writeln!(text, "{reasoning}");
    tell_warmup(&team["warmup"], text);
    tell_crash_loop(&team["crash_loop"], text);
    if team["rests"] == true {
        text.push_str("no worker: the next request forks one (WorkerIdleTimeout)\n");
    }
    if team["load"]["overloaded"] == true {
        let _ = writeln!(
            text,
            "overloaded: requests wait for longer than {} ms (WorkerQueueTarget); those without \
             room get 503",
            team["load"]["target_ms"]
        );
    }
    let has_told = team["crash_loop"].is_object();
    if let Some(count @ 3..) = team["false_starts"].as_u64().filter(|_| !has_told) {
        let _ = writeln!(
            text,
            "{count} workers in a row ended before their first request: the next start after \
             pauses; the error log has the reasons"
        );
    }
}

/// Writes that the zygote or the workers of a team end again and again.
fn tell_crash_loop(crash_loop: &Value, text: &mut String) {
    let Some(what) = crash_loop["what"].as_str() else {
        return;
    };
    let next = crash_loop["next_ms"].as_f64().unwrap_or_default() / 1000.0;
    let _ = writeln!(
        text,
        "crash loop: {} {what}s in a row have ended or could not start; the next start is in \
         {next:.1} s; requests get 503 while there is no worker; the error log has the reasons",
        crash_loop["in_a_row"]
    );
}

/// Writes what the requests before the first fork have brought.
fn tell_warmup(warmup: &Value, text: &mut String) {
    let Some(requests) = warmup["requests"].as_u64() else {
        return;
    };
    let ms = |name: &str| warmup[name].as_f64().unwrap_or_default() / 1000.0;
    let _ = writeln!(
        text,
        "warm-up: {requests} requests, {} failed; the first round took {:.1} ms, the last one \
         {:.1} ms; workers share the {} that they have added",
        warmup["failed"],
        ms("first_us"),
        ms("last_us"),
        size(&warmup["memory"])
    );
}

/// Adds a line for each script on the rung `rewind` in each worker.
fn scripts(scripts: &Value, text: &mut String) {
    let scripts: Vec<&Value> = scripts.as_array().into_iter().flatten().collect();
    if scripts.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\n{:>8}  {:<7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  script",
        "worker", "rung", "picture", "shared", "hot pages", "rewinds", "looks", "replaced"
    );
    for script in scripts {
        let kib = |name: &str| script[name].as_u64().unwrap_or_default() * 4;
        let _ = write!(
            text,
            "{:>8}  {:<7} {:>5} KiB {:>5} KiB {:>9} {:>9} {:>9} {:>9}  {}",
            script["worker"].to_string(),
            script["rung"].as_str().unwrap_or_default(),
            kib("pages"),
            kib("shared_pages"),
            script["hot_pages"].to_string(),
            script["rewinds"].to_string(),
            script["looks"].to_string(),
            script["replaced"].to_string(),
            script["script"].as_str().unwrap_or_default(),
        );
        match script["why"].as_str() {
            None | Some("") => text.push('\n'),
            Some(why) => {
                let _ = writeln!(text, ": {why}");
            }
        }
        if let Some(checks) = super::explain::checks::of_process(script) {
            let _ = writeln!(text, "{:>8}  {checks}", "");
        }
    }
}

/// Writes which modules the requests of a script load again and again.
fn tell_learned(learned: &Value, text: &mut String) {
    let learned: Vec<&Value> = learned.as_array().into_iter().flatten().collect();
    if learned.is_empty() {
        return;
    }
    text.push_str("\nloaded again in each request; after a reload, once for each script:\n");
    for module in learned {
        let field = |name: &str| module[name].as_str().unwrap_or_default();
        let _ = writeln!(text, "  {}  {}", field("script"), field("name"));
    }
}

fn back_ends(group: &Value, text: &mut String) {
    let _ = writeln!(
        text,
        "\n{} ({}): {} waiting\n{:<40} {:<9} {:>9} {:>5} {:>10} {:>7} {:>9}",
        group["name"].as_str().unwrap_or_default(),
        group["method"].as_str().unwrap_or_default(),
        group["waiting"],
        "back end",
        "state",
        "in flight",
        "idle",
        "requests",
        "failed",
        "mean",
    );
    for member in group["members"].as_array().into_iter().flatten() {
        let _ = writeln!(
            text,
            "{:<40} {:<9} {:>9} {:>5} {:>10} {:>7} {:>6} us",
            member["name"].as_str().unwrap_or_default(),
            member["state"].as_str().unwrap_or_default(),
            member["active_requests"].to_string(),
            member["idle"].to_string(),
            member["requests"].to_string(),
            member["failed"].to_string(),
            member["mean_us"].to_string(),
        );
    }
}

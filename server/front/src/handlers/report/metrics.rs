//! Writes metrics in Prometheus' text format or as OpenMetrics. A metric that OpenTelemetry defines
//! has OpenTelemetry's name.

use super::text;
use crate::content::Answer;
use crate::request::Request;
use crate::shared::meters::{Meters, BOUNDS_US};
use crate::shared::Shared;
use mehari_pool::{DeferredStatus, TeamStatus};
use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::time::UNIX_EPOCH;

pub fn answer(shared: &Shared, request: &Request<'_>) -> Answer {
    let accept = request.field("accept").unwrap_or_default();
    let open = memchr::memmem::find(accept, b"application/openmetrics-text").is_some();
    let mut page = Page {
        text: String::new(),
        open,
    };
    write(shared, &mut page);
    if open {
        page.text.push_str("# EOF\n");
        let media_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        text(200, media_type, page.text)
    } else {
        text(200, "text/plain; version=0.0.4; charset=utf-8", page.text)
    }
}

struct Page {
    text: String,
    /// Whether the format is OpenMetrics. OpenMetrics names families of counters without `_total`.
    open: bool,
}

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl std::fmt::Display) {
        self.family(name, "gauge", help);
        let _ = writeln!(self.text, "{name} {value}");
    }

    /// Begins a family of counters. `name` does not contain the final `_total`.
    fn counters(&mut self, name: &str, help: &str) {
        if self.open {
            self.family(name, "counter", help)
        } else {
            self.family(&format!("{name}_total"), "counter", help)
        }
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.counters(name, help);
        let _ = writeln!(self.text, "{name}_total {value}");
    }
}

fn write(shared: &Shared, page: &mut Page) {
    let counts = &shared.stats.counts;
    if let Some(meters) = &*shared.stats.meters.borrow() {
        durations(meters, page);
    }
    page.gauge(
        "http_server_active_requests",
        "Requests whose response has not ended.",
        counts.active.get(),
    );
    page.counter(
        "http_server_response_body_bytes",
        "Bytes of response bodies.",
        counts.bytes.get(),
    );
    page.counter(
        "mehari_connections",
        "Connections accepted.",
        counts.connections.get(),
    );
    page.counter(
        "mehari_connections_refused",
        "Connections answered 503 because MaxConnections were open.",
        counts.refused_connections.get(),
    );
    let traffic = &shared.traffic.counts;
    let name = "mehari_traffic_rule_actions";
    page.counters(name, "What traffic rules did.");
    for (action, count) in [
        ("too_many_at_once", &traffic.too_many_at_once),
        ("too_fast", &traffic.too_fast),
        ("held_back", &traffic.held_back),
        ("too_many_connections", &traffic.too_many_connections),
        ("too_slow", &traffic.too_slow),
    ] {
        let _ = writeln!(
            page.text,
            "{name}_total{{action=\"{action}\"}} {}",
            count.get()
        );
    }
    let exported = &shared.tracer.exported;
    let name = "mehari_trace_export_spans";
    page.counters(name, "Spans of TraceExport, by the outcome.");
    for (outcome, count) in [
        ("sent", &exported.sent),
        ("dropped", &exported.dropped),
        ("refused", &exported.refused),
    ] {
        let count = count.load(Ordering::Relaxed);
        let _ = writeln!(page.text, "{name}_total{{outcome=\"{outcome}\"}} {count}");
    }
    page.gauge(
        "mehari_connections_open",
        "Connections that are open.",
        shared.connections.registry.open(),
    );
    page.gauge(
        "mehari_unsent_bytes",
        "Bytes of responses in the front's memory that clients have not taken yet.",
        shared.connections.unsent.bytes(),
    );
    let started = shared
        .stats
        .started
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    page.gauge(
        "process_start_time_seconds",
        "When the server began, since 1970.",
        started.as_secs_f64(),
    );
    let name = "mehari_certificate_expiry_seconds";
    page.family(
        name,
        "gauge",
        "When a managed certificate ends, since 1970.",
    );
    for (domain, seconds) in shared.managed.expiries.borrow().iter() {
        let _ = writeln!(page.text, "{name}{{domain=\"{domain}\"}} {seconds}");
    }
    let Some(pool) = shared.backends.pool.status() else {
        return;
    };
    page.family("mehari_workers", "gauge", "Workers by what they do.");
    for state in ["starting", "idle", "busy", "retiring"] {
        let count = pool.workers.iter().filter(|worker| worker.state == state);
        let _ = writeln!(
            page.text,
            "mehari_workers{{state=\"{state}\"}} {}",
            count.count()
        );
    }
    let replaced = &pool.totals.replaced;
    let name = "mehari_workers_replaced";
    page.counters(name, "Workers that ended because of a limit, by the limit.");
    for (reason, count) in [
        ("requests", replaced.requests),
        ("memory", replaced.memory),
        ("unshared", replaced.unshared),
        ("shared", replaced.shared),
        ("lifetime", replaced.lifetime),
        ("idle", replaced.idle),
        ("asked", replaced.asked),
    ] {
        let _ = writeln!(page.text, "{name}_total{{reason=\"{reason}\"}} {count}");
    }
    page.gauge("mehari_workers_limit", "Workers there may be.", pool.limit);
    page.gauge(
        "mehari_queue_length",
        "Requests that wait for a worker.",
        pool.queue,
    );
    let refusals = &pool.totals.refusals;
    let name = "mehari_requests_refused";
    page.counters(name, "Requests that got no worker, by the reason.");
    for (reason, count) in [
        ("overload", refusals.overload),
        ("queue_full", refusals.queue_full),
        ("queue_timeout", refusals.queue_timeout),
        ("crash_loop", refusals.crash_loop),
        ("other", refusals.other),
    ] {
        let _ = writeln!(page.text, "{name}_total{{reason=\"{reason}\"}} {count}");
    }
    let overloaded = pool.teams.iter().filter(|team| team.load.overloaded);
    page.gauge(
        "mehari_overloaded",
        "Teams of workers that are overloaded.",
        overloaded.count(),
    );
    page.gauge(
        "mehari_generation",
        "The generation that serves.",
        pool.generation,
    );
    page.gauge(
        "mehari_perl_memory_bytes",
        "Memory of all processes of Perl, with each shared page counted once (the sum of PSS).",
        pool.memory.pss,
    );
    let private = pool.workers.iter().filter_map(|worker| worker.memory);
    page.gauge(
        "mehari_worker_private_bytes_max",
        "The largest memory that one worker shares with no other process.",
        private.map(|memory| memory.now.private).max().unwrap_or(0),
    );
    deferred(&pool.deferred, page);
    warmups(&pool.teams, page);
    crash_loops(&pool.teams, page);
    if pool.teams.len() > 1 {
        teams(&pool.teams, page);
    }
}

fn deferred(calls: &DeferredStatus, page: &mut Page) {
    let name = "mehari_deferred_calls_open";
    let help = "Calls of after_response that have not ended.";
    page.family(name, "gauge", help);
    for (state, count) in [("waiting", calls.waiting), ("running", calls.running)] {
        let _ = writeln!(page.text, "{name}{{state=\"{state}\"}} {count}");
    }
    let name = "mehari_deferred_calls";
    let help = "Calls of after_response that have ended or were refused, by the outcome.";
    page.counters(name, help);
    let totals = &calls.totals;
    for (outcome, count) in [
        ("done", totals.done),
        ("failed", totals.failed),
        ("timed_out", totals.timed_out),
        ("lost", totals.lost),
        ("dropped", totals.dropped),
        ("refused", totals.refused),
    ] {
        let _ = writeln!(page.text, "{name}_total{{outcome=\"{outcome}\"}} {count}");
    }
}

/// Writes what the warm-ups of the teams' zygotes have brought. Teams with a common zygote have a
/// common warm-up.
fn warmups(teams: &[TeamStatus], page: &mut Page) {
    let warmed = teams.iter().filter_map(|team| {
        let report = team.warmup.as_ref()?;
        Some((label(&team.host), report))
    });
    let warmed: Vec<_> = warmed.collect();
    if warmed.is_empty() {
        return;
    }
    let name = "mehari_warmup_shared_bytes";
    let help = "Memory that ZygoteWarmup has added to the zygote, which all workers share.";
    page.family(name, "gauge", help);
    for (host, report) in &warmed {
        let _ = writeln!(page.text, "{name}{{host={host}}} {}", report.memory);
    }
    let name = "mehari_warmup_round_seconds";
    page.family(name, "gauge", "How long a round of ZygoteWarmup took.");
    for (host, report) in &warmed {
        for (round, us) in [("first", report.first_us), ("last", report.last_us)] {
            let seconds = us as f64 / 1e6;
            let _ = writeln!(
                page.text,
                "{name}{{host={host},round=\"{round}\"}} {seconds}"
            );
        }
    }
    let name = "mehari_warmup_requests";
    page.family(
        name,
        "gauge",
        "Requests of ZygoteWarmup before the first fork.",
    );
    for (host, report) in &warmed {
        let answered = report.requests.saturating_sub(report.failed);
        for (outcome, count) in [("answered", answered), ("failed", report.failed)] {
            let _ = writeln!(
                page.text,
                "{name}{{host={host},outcome=\"{outcome}\"}} {count}"
            );
        }
    }
}

/// Writes the metrics of each team of workers.
fn teams(teams: &[TeamStatus], page: &mut Page) {
    let name = "mehari_team_workers";
    let help = "Workers of the main server (an empty host), of each PerlPool (its name), and of each host with PerlOptions +Clone or +Parent.";
    page.family(name, "gauge", help);
    for team in teams {
        for (state, count) in [("idle", team.idle), ("busy", team.busy)] {
            let host = label(&team.host);
            let _ = writeln!(page.text, "{name}{{host={host},state=\"{state}\"}} {count}");
        }
    }
    let name = "mehari_team_queue_length";
    page.family(
        name,
        "gauge",
        "Requests that wait for a worker of the host.",
    );
    for team in teams {
        let _ = writeln!(
            page.text,
            "{name}{{host={}}} {}",
            label(&team.host),
            team.queue
        );
    }
}

/// Writes the crash loop of each team: how many zygotes or workers have ended in a row. 0: the team
/// is in no crash loop.
fn crash_loops(teams: &[TeamStatus], page: &mut Page) {
    let name = "mehari_crash_loop";
    let help = "Zygotes or workers that ended in a row before they served. 0: the next start comes without a pause.";
    page.family(name, "gauge", help);
    for team in teams {
        let count = team.crash_loop.map_or(0, |it| it.in_a_row);
        let host = label(&team.host);
        let _ = writeln!(page.text, "{name}{{host={host}}} {count}");
    }
}

/// Returns the text as a quoted label value.
fn label(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('\n', "\\n"))
}

fn durations(meters: &Meters, page: &mut Page) {
    let name = "http_server_request_duration_seconds";
    page.family(
        name,
        "histogram",
        "From the arrival of a request to the end of its response.",
    );
    for one in meters.histograms() {
        let labels = format!(
            "http_request_method=\"{}\",http_response_status_code=\"{}\"",
            one.method, one.status
        );
        let mut below = 0;
        for (bound, count) in BOUNDS_US.iter().zip(&one.buckets) {
            below += count;
            let bound = *bound as f64 / 1e6;
            let _ = writeln!(
                page.text,
                "{name}_bucket{{{labels},le=\"{bound}\"}} {below}"
            );
        }
        below += one.buckets[BOUNDS_US.len()];
        let _ = writeln!(page.text, "{name}_bucket{{{labels},le=\"+Inf\"}} {below}");
        let sum = one.sum_us as f64 / 1e6;
        let _ = writeln!(
            page.text,
            "{name}_sum{{{labels}}} {sum}\n{name}_count{{{labels}}} {below}"
        );
    }
}

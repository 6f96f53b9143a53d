//! Compares the limits of workers with what their memory really is, and with what the machine has.

use super::advice_or;
use crate::cli::doctor::advice::{figure, Advice, Verdict};
use crate::cli::doctor::examination::{Examination, ExaminedServer};
use crate::cli::doctor::gain;
use crate::cli::doctor::measuring::bytes;

/// A worker that is replaced after fewer requests costs a fork and its private memory too often.
const LEAST_LIFE: f64 = 200.0;
/// The least requests that tell how long a worker lives.
const LEAST_REQUESTS: f64 = 50.0;

/// The limits, and the count of the workers that each has ended.
const LIMITS: &[(&str, &str)] = &[
    ("memory", "MaxWorkerMemory"),
    ("unshared", "MaxUnsharedMemory"),
    ("shared", "MinSharedMemory"),
    ("requests", "MaxConnectionsPerChild"),
];

pub fn check(examination: &Examination) -> Verdict {
    let server = match examination.running() {
        Ok(server) => server,
        Err(why) => return Verdict::Unmeasured(why),
    };
    let sizes = WorkerSizes::of(server);
    if sizes.rss == 0.0 {
        return Verdict::Unmeasured(
            "the server has not looked at a worker's memory yet".to_owned(),
        );
    }
    let mut advice: Vec<Advice> = LIMITS
        .iter()
        .filter_map(|(reason, directive)| {
            advise_limit(examination, server, &sizes, reason, directive)
        })
        .collect();
    advice.extend(advise_number(examination, server, &sizes));
    advice_or(
        advice,
        format!(
            "the largest worker has {} of its own of {}, all processes of Perl have {}; {} requests",
            bytes(sizes.private),
            bytes(sizes.rss),
            bytes(sizes.all),
            server.span.requests()
        ),
    )
}

/// The largest figures of all workers, in bytes.
struct WorkerSizes {
    rss: f64,
    private: f64,
    shared: f64,
    /// The sum of all processes of Perl.
    all: f64,
    growth: f64,
}

impl WorkerSizes {
    fn of(server: &ExaminedServer) -> WorkerSizes {
        let largest = |name: &str| {
            let each = server
                .workers()
                .filter_map(|worker| worker["memory"][name].as_f64());
            each.fold(0.0, f64::max)
        };
        WorkerSizes {
            rss: largest("rss"),
            private: largest("private"),
            shared: largest("shared"),
            all: server.status["pool"]["memory"]["pss"]
                .as_f64()
                .unwrap_or_default(),
            growth: largest("growth_per_request"),
        }
    }
}

/// Advises another limit where workers are replaced after few requests.
fn advise_limit(
    examination: &Examination,
    server: &ExaminedServer,
    sizes: &WorkerSizes,
    reason: &str,
    directive: &str,
) -> Option<Advice> {
    let line = examination.configuration.find(directive).or_else(|| {
        // The older name of the same directive.
        let is_requests = reason == "requests";
        is_requests.then(|| examination.configuration.find("MaxRequestsPerChild"))?
    })?;
    let replaced = server
        .span
        .gained(&format!("/pool/totals/replaced/{reason}"));
    let requests = server.span.requests();
    if replaced < 1.0 || requests < LEAST_REQUESTS || requests / replaced >= LEAST_LIFE {
        return None;
    }
    let name = line.text.split_whitespace().next().unwrap_or(directive);
    let value = match reason {
        // What a worker has now, and what it would add in 1000 requests.
        "memory" => (sizes.rss * 1.25 + sizes.growth * 1000.0).round(),
        "unshared" => (sizes.private * 1.5 + sizes.growth * 1000.0).round(),
        "shared" => (sizes.shared * 0.5).round(),
        _ if sizes.growth > 0.0 => 10_000.0,
        _ => 0.0,
    };
    let new = format!("{name} {value:.0}");
    Some(Advice {
        what: format!("`{}` replaces a worker after {:.0} requests", line.text, requests / replaced),
        measured: format!(
            "{replaced} workers were replaced in {requests} requests; each new one is forked and makes {} \
             its own again; the largest worker has {} in all, {} of it shared, and grows by {} a request",
            bytes(sizes.private),
            bytes(sizes.rss),
            bytes(sizes.shared),
            bytes(sizes.growth)
        ),
        figures: vec![
            figure("life", requests / replaced, "requests"),
            figure("private", sizes.private, "bytes"),
        ],
        change: examination.configuration.set(name, &new),
        gain: gain::of_lines(examination, &[&new], &examination.example()),
    })
}

/// Advises fewer workers where all that may run would not fit into the memory.
fn advise_number(
    examination: &Examination,
    server: &ExaminedServer,
    sizes: &WorkerSizes,
) -> Option<Advice> {
    let limit = server.status["pool"]["limit"].as_f64()?;
    let now = server.workers().count() as f64;
    let machine = server
        .span
        .after
        .pointer("/machine/memory/total")?
        .as_f64()?;
    let available = server
        .span
        .after
        .pointer("/machine/memory/available")?
        .as_f64()?;
    let group = server.span.kernel[1].memory_limit.map(|limit| limit as f64);
    let memory = group.map_or(machine, |group| group.min(machine));
    let free = group.map_or(available, |group| (group - sizes.all).min(available));
    let wanted = sizes.private * (limit - now);
    if sizes.private == 0.0 || wanted <= free {
        return None;
    }
    let fit = (now + free * 0.8 / sizes.private).floor().max(1.0);
    let line = format!("MaxRequestWorkers {fit}");
    Some(Advice {
        what: format!("{limit} workers would not fit into the memory"),
        measured: format!(
            "a worker has up to {} of its own: {limit} of them take {}, and {} of {} are free",
            bytes(sizes.private),
            bytes(sizes.private * limit),
            bytes(free),
            bytes(memory)
        ),
        figures: vec![
            figure("private", sizes.private, "bytes a worker"),
            figure("free", free, "bytes"),
        ],
        change: examination.configuration.set("MaxRequestWorkers", &line),
        gain: gain::of_lines_with(examination, &[&line], &examination.example(), "-c 32"),
    })
}

//! Measures how long the server's control group (a container's limits) made it wait.

use super::advice_or;
use crate::cli::doctor::advice::{figure, Advice, ProposedChange, Verdict};
use crate::cli::doctor::examination::Examination;
use crate::cli::doctor::gain;
use crate::cli::doctor::measuring::{bytes, ms};

use std::path::PathBuf;

/// The least share of the watched time for which waiting is worth a change.
const LEAST_SHARE: f64 = 0.01;

pub fn check(examination: &Examination) -> Verdict {
    let server = match examination.running() {
        Ok(server) => server,
        Err(why) => return Verdict::Unmeasured(why),
    };
    let [before, now] = &server.span.kernel;
    let (Some(first), Some(last)) = (before.throttled_us, now.throttled_us) else {
        return Verdict::Unmeasured(
            "the server's control group counts no processor time".to_owned(),
        );
    };
    let waited_us = last.saturating_sub(first) as f64;
    let share = waited_us / 1e6 / server.span.seconds.max(0.001);
    let hits = now.memory_hits.saturating_sub(before.memory_hits);
    let memory = now
        .memory_limit
        .map_or("no limit of memory".to_owned(), |limit| {
            format!(
                "its memory limit of {} was reached {hits} times",
                bytes(limit as f64)
            )
        });
    let told = format!(
        "the control group was without processor time for {} of {:.1} s; {memory}",
        ms(waited_us),
        server.span.seconds
    );
    let mut advice = Vec::new();
    let mut advise = |what: &str, file: &Option<PathBuf>, new: &str| {
        let file = file.as_ref().map(|file| file.display().to_string());
        advice.push(Advice {
            what: what.to_owned(),
            measured: told.clone(),
            figures: vec![
                figure("without processor time", 100.0 * share, "% of the time"),
                figure("memory limit reached", hits as f64, "times"),
            ],
            change: ProposedChange::code(&file.unwrap_or_default(), 1, new),
            gain: gain::of_records(examination, &examination.example()),
        });
    };
    if share >= LEAST_SHARE {
        let new = "raise the quota (--cpus of a container, CPUQuota= of a systemd unit)";
        advise(
            "the container's quota of processor time stops the server",
            &now.cpu_limit,
            new,
        );
    }
    if hits > 0 {
        let new = "raise the limit (--memory of a container, MemoryMax= of a systemd unit), or let fewer workers run";
        advise(
            "the container's memory limit was reached",
            &now.memory_limit_file,
            new,
        );
    }
    advice_or(advice, told)
}

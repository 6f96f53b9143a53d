//! Names scripts that run on a slower rung than they could, by the times of each rung.
//!
//! A script's URL is requested from servers of its own, one for each rung. Without a URL, a script
//! that cannot be rewound is named with the cost of a fork.

use super::advice_or;
use crate::cli::control;
use crate::cli::doctor::advice::{figure, Advice, ProposedChange, Verdict};
use crate::cli::doctor::examination::{Examination, ExaminedServer};
use crate::cli::doctor::gain;
use crate::cli::doctor::measuring::ms;
use crate::cli::doctor::trial::{compare_rungs, RungTimes};
use crate::cli::doctor::visits::VisitedPage;
use mehari_config::{Handler, Rung};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A gain of less than this share is not worth a change.
const LEAST_GAIN: f64 = 0.1;
const MOST_SCRIPTS: usize = 200;

pub fn check(examination: &Examination) -> Verdict {
    let server = match examination.running() {
        Ok(server) => server,
        Err(why) => return Verdict::Unmeasured(why),
    };
    let mut advice = Vec::new();
    let mut told = Vec::new();
    let mut problems = Vec::new();
    for page in &examination.pages {
        match by_rung(examination, page) {
            Ok(Some(times)) => {
                told.push(times.told());
                advice.extend(advise_rung(examination, page, &times));
            }
            Ok(None) => {}
            Err(why) => problems.push(why),
        }
    }
    for script in forked(server).into_values() {
        match advise_fork(examination, script) {
            Ok(forked) => advice.push(forked),
            Err(why) => problems.push(why),
        }
    }
    let scripts = server.pool_list("scripts").count();
    match (advice.is_empty(), problems.is_empty(), told.is_empty()) {
        (true, false, _) => Verdict::Unmeasured(problems.join("; ")),
        (_, _, false) => advice_or(advice, told.join("; ")),
        _ => advice_or(
            advice,
            format!("{scripts} reports of workers about scripts, none says `fork`"),
        ),
    }
}

/// Returns the files of a site's scripts.
pub fn scripts(examination: &Examination) -> Vec<PathBuf> {
    let site = &examination.configuration.site;
    let hosts: Vec<u32> = site.all_hosts().map(|host| host.number).collect();
    let rows = mehari_front::survey(site, &hosts).rows;
    let rows = rows
        .into_iter()
        .filter(|row| matches!(row.handler, Ok(Handler::Script(_) | Handler::Perl { .. })));
    let mut files: Vec<PathBuf> = Vec::new();
    for row in rows {
        let example = mehari_front::places_of(site, std::path::Path::new(&row.example));
        let Some(example) = example.into_iter().next().map(|place| place.file) else {
            continue;
        };
        let suffix = example.extension().map(ToOwned::to_owned);
        let folder = example.parent().map(ToOwned::to_owned);
        let beside = folder.and_then(|folder| std::fs::read_dir(folder).ok());
        let beside = beside
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        files
            .extend(beside.filter(|path| {
                path.is_file() && path.extension().map(ToOwned::to_owned) == suffix
            }));
    }
    files.sort();
    files.dedup();
    files.truncate(MOST_SCRIPTS);
    files
}

/// Times the page on each rung. `None`: the page is no script.
fn by_rung(examination: &Examination, page: &VisitedPage) -> Result<Option<RungTimes>, String> {
    let site = &examination.configuration.site;
    let places = mehari_front::places_of(site, std::path::Path::new(&page.path));
    let place = places
        .into_iter()
        .find(|place| matches!(place.handler, Ok(Handler::Script(_))));
    let Some(Ok(Handler::Script(rung))) = place.map(|place| place.handler) else {
        return Ok(None);
    };
    compare_rungs(examination, page, rung).map(Some)
}

fn advise_rung(examination: &Examination, page: &VisitedPage, times: &RungTimes) -> Option<Advice> {
    let best = times.fastest_proven(LEAST_GAIN)?;
    let section = super::super::trial::section(&page.path, best.rung);
    let lines: Vec<&str> = section.iter().map(String::as_str).collect();
    let shares = matches!(best.rung, Rung::Registry | Rung::PerlRun);
    let caution = if shares {
        "; on this rung requests share an interpreter: globals keep their values"
    } else {
        ""
    };
    Some(Advice {
        what: format!(
            "{} runs on the rung `{}`, and is faster on `{}`",
            page.url,
            times.current.name(),
            best.rung.name()
        ),
        measured: format!("{}{caution}", times.told()),
        figures: times
            .all
            .iter()
            .map(|time| figure(time.rung.name(), time.mean_us / 1e3, "ms a request"))
            .collect(),
        change: examination.configuration.add(&[], &section.join("\n")),
        gain: gain::of_lines(examination, &lines, &page.url),
    })
}

/// Returns the reports of workers about scripts that should be rewound and are forked.
fn forked(server: &ExaminedServer) -> BTreeMap<&str, &Value> {
    let reports = server.pool_list("scripts");
    let forked = reports.filter(|report| report["rung"] == Rung::Fork.name());
    let with_reason =
        forked.filter(|report| report["why"].as_str().is_some_and(|it| !it.is_empty()));
    with_reason
        .map(|report| (report["script"].as_str().unwrap_or_default(), report))
        .collect()
}

/// Asks the server for the cost of a fork and for the line that costs the rung `rewind`.
fn advise_fork(examination: &Examination, report: &Value) -> Result<Advice, String> {
    let script = report["script"].as_str().unwrap_or_default();
    let why = report["why"].as_str().unwrap_or_default();
    let answer = control::ask(examination.control.as_deref(), &format!("explain {script}"))?;
    let explanation = &answer["explanation"];
    let fork_us = explanation["fork_us"].as_f64().filter(|us| *us > 0.0);
    let fork_us = fork_us.ok_or_else(|| format!("the server measured no fork of {script}"))?;
    let findings = explanation["findings"].as_array().into_iter().flatten();
    let line = findings
        .into_iter()
        .find(|finding| finding["effect"] == "fork");
    let change = match line {
        Some(finding) => ProposedChange::code(
            finding["file"].as_str().unwrap_or(script),
            finding["line"].as_u64().unwrap_or_default() as u32,
            &format!(
                "without this ({}) the script can be rewound",
                finding["what"].as_str().unwrap_or(why)
            ),
        ),
        None => ProposedChange::code(script, 1, &format!("cannot be rewound: {why}")),
    };
    let path = answer["places"][0]["url_path"].as_str().unwrap_or("/");
    Ok(Advice {
        what: format!("{script} runs on the rung `fork`: {why}"),
        measured: format!(
            "each request forks a process, which takes {} or more",
            ms(fork_us)
        ),
        figures: vec![figure("fork", fork_us / 1e3, "ms a request")],
        change,
        gain: gain::of_records(examination, path),
    })
}

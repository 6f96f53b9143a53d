//! Names statements of a database that one request executes again and again.

use super::advice_or;
use crate::cli::doctor::advice::{figure, Advice, ProposedChange, Verdict};
use crate::cli::doctor::examination::Examination;
use crate::cli::doctor::gain;
use crate::cli::doctor::measuring::ms;
use crate::cli::doctor::visits::VisitedPage;
use mehari_profile::{FrameKind, FrameLabel};
use std::collections::{BTreeMap, HashMap};

/// The least executions of a statement by one request, and their least share of its time.
const LEAST_COUNT: u32 = 10;
const LEAST_SHARE: f64 = 0.05;

#[derive(Default)]
struct StatementTally {
    count: u32,
    took_us: f64,
}

pub fn check(examination: &Examination) -> Verdict {
    if let Err(why) = examination.running() {
        return Verdict::Unmeasured(why);
    }
    if examination.pages.is_empty() {
        return Verdict::Unmeasured("needs a URL to trace: mehari doctor URL".to_owned());
    }
    let mut advice = Vec::new();
    let mut seen = 0;
    for page in &examination.pages {
        let whole_us = page
            .traces
            .last()
            .map_or(0.0, |trace| trace.took as f64 / 1e3);
        let statements = statements(page);
        seen += statements.values().map(|it| it.count).sum::<u32>();
        for (text, tally) in statements {
            let share = tally.took_us / whole_us.max(1.0);
            if tally.count >= LEAST_COUNT && share >= LEAST_SHARE {
                advice.push(advise(examination, page, &text, &tally, whole_us));
            }
        }
    }
    advice_or(
        advice,
        format!(
            "{seen} statements in {} traces, none {LEAST_COUNT} times",
            examination.pages.len()
        ),
    )
}

/// Sums the traced calls of DBI by the statement's text, whatever the method.
fn statements(page: &VisitedPage) -> BTreeMap<String, StatementTally> {
    let mut tallies: BTreeMap<String, StatementTally> = BTreeMap::new();
    for part in page.parts("statement") {
        let Some((method, text)) = part.name.split_once(": ") else {
            continue;
        };
        let tally = tallies.entry(text.to_owned()).or_default();
        tally.took_us += part.took as f64 / 1e3;
        if method.contains("execute") || method.contains(" do") || method.contains("select") {
            tally.count += part.count;
        }
    }
    tallies
}

fn advise(
    examination: &Examination,
    page: &VisitedPage,
    text: &str,
    tally: &StatementTally,
    whole_us: f64,
) -> Advice {
    let place = caller(page);
    let new =
        "ask for all rows by one statement (a join, or IN), or prepare once outside of the loop";
    Advice {
        what: format!(
            "one request of {} executes `{text}` {} times",
            page.url, tally.count
        ),
        measured: format!(
            "{} of the {} of the traced request, {} for each execution",
            ms(tally.took_us),
            ms(whole_us),
            ms(tally.took_us / f64::from(tally.count))
        ),
        figures: vec![
            figure("statement", tally.took_us / 1e3, "ms a request"),
            figure("executions", f64::from(tally.count), "a request"),
        ],
        change: match place {
            Some(place) => ProposedChange::code(&place.file, place.line, new),
            None => ProposedChange::code("the code that executes it", 0, new),
        },
        gain: gain::of_records(examination, &page.url),
    }
}

/// Returns the line of the site that calls DBI most, by the samples of the page.
fn caller(page: &VisitedPage) -> Option<FrameLabel> {
    let mut tallies: HashMap<u32, u64> = HashMap::new();
    let profile = &page.profile;
    for (stack, (_, wall)) in profile.weights() {
        let frames = &profile.stacks[stack as usize];
        let is_dbi = |frame: &u32| {
            let name = &profile.frames[*frame as usize].name;
            name.starts_with("DBI::") || name.starts_with("DBD::")
        };
        let Some(at) = frames.iter().position(is_dbi) else {
            continue;
        };
        let before = frames[..at].iter().rev();
        let is_perl = |frame: &&u32| {
            let label = &profile.frames[**frame as usize];
            label.kind == FrameKind::Perl && label.file.starts_with('/')
        };
        if let Some(&frame) = before.clone().find(is_perl) {
            *tallies.entry(frame).or_default() += wall;
        }
    }
    let (frame, _) = tallies.into_iter().max_by_key(|(_, count)| *count)?;
    Some(profile.frames[frame as usize].clone())
}

//! Names the line of Perl in which a slow page spends its time.
//!
//! Without a URL the slowest page of the watched time was sampled; with URLs, each of them. A page
//! that spends most of its time in no line of the site's own Perl is left to `mehari trace`.

use crate::cli::doctor::advice::{figure, Advice, ProposedChange, Verdict};
use crate::cli::doctor::examination::Examination;
use crate::cli::doctor::gain;
use crate::cli::doctor::measuring::{ms, MeasuredMean};
use crate::cli::doctor::watching::SLOW_US;
use mehari_profile::{FrameKind, FrameLabel, Profile};
use std::collections::HashMap;

/// The least share of a page's samples for which a line is named.
const LEAST_SHARE: f64 = 0.2;
/// The least number of samples. With fewer, a share of 20 % has an interval of more than 11 points.
const LEAST_SAMPLES: u64 = 50;
/// The most lines of one page.
const MOST: usize = 3;

/// A page with its samples.
struct SampledPage<'e> {
    /// The URL or path.
    url: String,
    mean_us: f64,
    told: String,
    profile: &'e Profile,
}

pub fn check(examination: &Examination) -> Verdict {
    let server = match examination.running() {
        Ok(server) => server,
        Err(why) => return Verdict::Unmeasured(why),
    };
    let mut advice = Vec::new();
    let mut few = Vec::new();
    for page in pages(examination) {
        let samples = page.profile.samples();
        if samples < LEAST_SAMPLES {
            few.push(few_samples(&page));
            continue;
        }
        for line in lines(page.profile).into_iter().take(MOST) {
            if line.share >= LEAST_SHARE {
                advice.push(advise(examination, &page, &line));
            }
        }
    }
    let places = server
        .span
        .places
        .iter()
        .filter(|place| place.mean_us() >= SLOW_US);
    let slow = places.count();
    match (advice.is_empty(), few.is_empty(), slow) {
        (false, ..) => Verdict::Advice(advice),
        (_, false, _) => Verdict::Unmeasured(few.join("; ")),
        (_, _, 0) => Verdict::Fine(format!("no page took {} or more", ms(SLOW_US))),
        (_, _, slow) => Verdict::Fine(format!(
            "{slow} pages took {} or more; no line of Perl takes {:.0} % of one",
            ms(SLOW_US),
            100.0 * LEAST_SHARE
        )),
    }
}

fn few_samples(page: &SampledPage<'_>) -> String {
    let refused = page.profile.facts.refused.as_deref();
    let why = refused.map_or(String::new(), |why| format!(": {why}"));
    format!(
        "{} gave {} samples, and {LEAST_SAMPLES} are needed{why}; watch longer by -d",
        page.url,
        page.profile.samples()
    )
}

fn pages(examination: &Examination) -> Vec<SampledPage<'_>> {
    let visited = examination.pages.iter().map(|page| {
        let took = MeasuredMean::of(&page.took_ms);
        SampledPage {
            url: page.url.clone(),
            mean_us: took.mean * 1e3,
            told: format!(
                "{:.1} ± {:.1} ms for each of {} requests",
                took.mean,
                took.interval,
                page.took_ms.len()
            ),
            profile: &page.profile,
        }
    });
    let mut pages: Vec<SampledPage<'_>> = visited.collect();
    let span = examination.server.as_ref().map(|server| &server.span);
    if let Some((span, sampled)) = span.and_then(|span| Some((span, span.sampled.as_ref()?))) {
        let place = span.places.iter().find(|place| place.path == sampled.path);
        if let Some(place) = place {
            pages.push(SampledPage {
                url: place.path.clone(),
                mean_us: place.mean_us(),
                told: format!(
                    "{} for each of {} requests, p99 {}",
                    ms(place.mean_us()),
                    place.requests,
                    ms(place.p99_us)
                ),
                profile: &sampled.profile,
            });
        }
    }
    pages.retain(|page| page.mean_us >= SLOW_US);
    pages
}

/// A line of the site's own Perl, with its share of the samples.
struct HotLine {
    frame: FrameLabel,
    share: f64,
    /// What the line did or called most, and its share of the line's own samples.
    most: Option<(String, f64)>,
}

/// The samples of a line.
struct LineTally {
    frame: FrameLabel,
    count: f64,
    /// The innermost frames that the line led to, with their samples.
    callees: HashMap<String, f64>,
}

impl LineTally {
    fn of(frame: &FrameLabel) -> LineTally {
        LineTally {
            frame: frame.clone(),
            count: 0.0,
            callees: HashMap::new(),
        }
    }
}

/// Returns the lines that the samples lead to, the largest share first. A sample belongs to its
/// innermost line of Perl outside of perl's own folders.
fn lines(profile: &Profile) -> Vec<HotLine> {
    let all = profile.samples().max(1) as f64;
    let mut tallies: HashMap<(String, u32), LineTally> = HashMap::new();
    for (stack, (_, wall)) in profile.weights() {
        let frames: Vec<&FrameLabel> = profile.stacks[stack as usize]
            .iter()
            .map(|&frame| &profile.frames[frame as usize])
            .collect();
        let Some(at) = frames.iter().rposition(|frame| is_own(frame)) else {
            continue;
        };
        let frame = frames[at];
        let entry = tallies
            .entry((frame.file.clone(), frame.line))
            .or_insert_with(|| LineTally::of(frame));
        entry.count += wall as f64;
        if let Some(inner) = frames.last().filter(|_| at + 1 < frames.len()) {
            *entry.callees.entry(inner.name.clone()).or_default() += wall as f64;
        }
    }
    let mut lines: Vec<HotLine> = tallies
        .into_values()
        .map(|tally| HotLine {
            frame: tally.frame,
            share: tally.count / all,
            most: tally
                .callees
                .into_iter()
                .max_by(|one, other| one.1.total_cmp(&other.1))
                .map(|(name, inner)| (name, inner / tally.count)),
        })
        .collect();
    lines.sort_by(|one, other| other.share.total_cmp(&one.share));
    lines
}

/// Whether a frame is Perl of the site, and not of perl's or the system's modules.
fn is_own(frame: &FrameLabel) -> bool {
    const FOREIGN: [&str; 4] = [
        "/usr/share/",
        "/usr/lib/",
        "/usr/local/lib/",
        "/usr/local/share/",
    ];
    let is_foreign = FOREIGN.iter().any(|folder| frame.file.starts_with(folder));
    let is_ours = frame.file.contains("/Mehari/") || frame.file.contains("/ModPerl/");
    frame.kind == FrameKind::Perl
        && frame.line > 0
        && frame.file.starts_with('/')
        && !is_foreign
        && !is_ours
}

fn advise(examination: &Examination, page: &SampledPage<'_>, line: &HotLine) -> Advice {
    let cost_us = page.mean_us * line.share;
    let does = match &line.most {
        Some((name, share)) if *share >= 0.5 => format!(", most of it in {name}"),
        _ => String::new(),
    };
    let all = page.profile.samples() as f64;
    let reach = 1.96 * (line.share * (1.0 - line.share) / all).sqrt();
    Advice {
        what: format!(
            "{} spends {:.0} % of its time at one line of {}",
            page.url,
            100.0 * line.share,
            line.frame.name
        ),
        measured: format!(
            "{}; {} of it here: {:.0} ± {:.0} % of {} samples{does}",
            page.told,
            ms(cost_us),
            100.0 * line.share,
            100.0 * reach,
            page.profile.samples(),
        ),
        figures: vec![
            figure("page", page.mean_us / 1e3, "ms a request"),
            figure("line", cost_us / 1e3, "ms a request"),
            figure("share", 100.0 * line.share, "%"),
        ],
        change: ProposedChange::code(
            &line.frame.file,
            line.frame.line,
            "do this less often, or faster",
        ),
        gain: gain::of_records(examination, &page.url),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mehari_profile::Observation;

    fn frame(name: &str, file: &str, line: u32, kind: FrameKind) -> FrameLabel {
        FrameLabel {
            name: name.to_owned(),
            file: file.to_owned(),
            line,
            kind,
        }
    }

    #[test]
    fn samples_belong_to_the_innermost_line_of_the_site() {
        let mut profile = Profile::default();
        let site = frame("Shop::total", "/srv/Shop.pm", 7, FrameKind::Perl);
        let dumper = frame(
            "Data::Dumper::Dump",
            "/usr/share/perl/Dumper.pm",
            1,
            FrameKind::Perl,
        );
        let slow = profile.stack(vec![site.clone(), dumper]);
        let other = profile.stack(vec![frame("Shop::x", "/srv/Shop.pm", 9, FrameKind::Perl)]);
        for (stack, count) in [(slow, 30), (other, 10)] {
            profile.observations.push(Observation {
                at: 0,
                pid: 1,
                stack,
                is_running: true,
                count,
            });
        }
        let lines = lines(&profile);
        assert_eq!((lines[0].frame.line, lines[0].share), (7, 0.75));
        let most = lines[0].most.as_ref().expect("a callee");
        assert_eq!((most.0.as_str(), most.1), ("Data::Dumper::Dump", 1.0));
        assert_eq!(lines[1].frame.line, 9);
    }
}

//! Serves a copy of the site for a trial: the same configuration with further lines, on a free port
//! of the loopback. The trial's server ends with the trial.

use super::examination::Examination;
use super::gain;
use super::measuring::{ms, MeasuredMean};
use super::visits::{authority_of, get, VisitedPage};
use crate::cli::compare::server::Server;
use crate::cli::compare::Failure;
use crate::cli::serve::program_path;
use mehari_config::Rung;
use mehari_record::statistics::Comparison;
use mehari_trace::Page;
use std::time::{Duration, Instant};

const START: Duration = Duration::from_secs(60);
/// The requests of each server in each round.
const REQUESTS: usize = 3;
const WARM_UP: usize = 2;
/// A rung is not tried if its last request of the warm-up takes longer than this multiple of the
/// page's time.
const HOPELESS: f64 = 4.0;

/// The rungs that a script may try. `cgi` is the slowest by far and never advised.
const TRIED: [Rung; 4] = [Rung::Fork, Rung::Rewind, Rung::PerlRun, Rung::Registry];

pub struct RungTime {
    pub rung: Rung,
    /// The mean of the rounds' medians.
    pub mean_us: f64,
    /// This rung's time divided by the current rung's time. `None` for the current rung.
    pub against_current: Option<Comparison>,
}

pub struct RungTimes {
    pub current: Rung,
    pub all: Vec<RungTime>,
}

impl RungTimes {
    pub fn told(&self) -> String {
        let each = self.all.iter().map(|time| {
            let mark = if time.rung == self.current {
                " (now)"
            } else {
                ""
            };
            format!("`{}`{mark} {}", time.rung.name(), ms(time.mean_us))
        });
        format!(
            "a request takes {}",
            each.collect::<Vec<String>>().join(", ")
        )
    }

    /// Returns the fastest rung whose interval proves a gain of more than `least`.
    pub fn fastest_proven(&self, least: f64) -> Option<&RungTime> {
        let proven = self.all.iter().filter(|time| {
            let compared = time.against_current.as_ref();
            compared.is_some_and(|it| it.sufficient && it.interval.high < 1.0 - least)
        });
        proven.min_by(|one, other| one.mean_us.total_cmp(&other.mean_us))
    }
}

/// Returns the lines that serve one path on a rung.
pub fn section(path: &str, rung: Rung) -> Vec<String> {
    let handler = match rung {
        Rung::Fork => "Mehari::Fork",
        Rung::Rewind => "Mehari::Rewind",
        Rung::PerlRun => "ModPerl::PerlRun",
        Rung::Registry => "ModPerl::Registry",
        _ => "Mehari::Auto",
    };
    vec![
        format!("<Location \"{path}\">"),
        "SetHandler perl-script".to_owned(),
        format!("PerlResponseHandler {handler}"),
        "PerlOptions +ParseHeaders".to_owned(),
        "</Location>".to_owned(),
    ]
}

/// Times a page on its rung and on the others, in turns. A rung with another answer is left out.
pub fn compare_rungs(
    examination: &Examination,
    page: &VisitedPage,
    current: Rung,
) -> Result<RungTimes, String> {
    if page.path.contains(['"', '\\']) {
        return Err(format!(
            "{}: a path with quotes is not tried on other rungs",
            page.path
        ));
    }
    let program = gain::quoted(&program_path().display().to_string());
    let mut rungs = vec![current];
    rungs.extend(TRIED.into_iter().filter(|rung| *rung != current));
    let mut servers = Vec::new();
    for rung in rungs {
        let section = section(&page.path, rung);
        let lines: Vec<&str> = if rung == current {
            Vec::new()
        } else {
            section.iter().map(String::as_str).collect()
        };
        let command = gain::serve(examination, &program, &lines);
        let command = command.ok_or("rungs are tried with a configuration file only (serve -f)")?;
        let server = Server::start(&command, &page.target, START).map_err(reason)?;
        servers.push((rung, server));
    }
    let host = authority_of(&page.url).to_owned();
    let ask = |server: &Server| get(&server.url, &[("Host", host.as_str())]);
    let mut same = Vec::new();
    for (rung, server) in servers {
        for _ in 0..WARM_UP {
            ask(&server)?;
        }
        let begun = Instant::now();
        let last = ask(&server)?;
        let took_ms = begun.elapsed().as_secs_f64() * 1e3;
        let is_hopeless = took_ms > HOPELESS * MeasuredMean::of(&page.took_ms).mean;
        if rung == current || !is_hopeless && is_same(page, &last) {
            same.push((rung, server));
        }
    }
    let servers = same;
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); servers.len()];
    for _ in 0..examination.rounds {
        for ((_, server), times) in servers.iter().zip(&mut times) {
            times.push(median_us(|| ask(server).map(drop))?);
        }
    }
    let first = times[0].clone();
    let all = servers.iter().zip(times).map(|((rung, _), times)| {
        let pairs: Vec<(f64, f64)> = first.iter().copied().zip(times.iter().copied()).collect();
        RungTime {
            rung: *rung,
            mean_us: times.iter().sum::<f64>() / times.len() as f64,
            against_current: (*rung != current)
                .then(|| Comparison::paired(&pairs).ok())
                .flatten(),
        }
    });
    Ok(RungTimes {
        current,
        all: all.collect(),
    })
}

/// Whether a rung answers as the page did. A body that differs from request to request may differ.
fn is_same(page: &VisitedPage, answer: &Page) -> bool {
    let is_steady = page.plain.body() == page.again.body();
    answer.code() == page.plain.code() && (!is_steady || answer.body() == page.plain.body())
}

fn reason(failure: Failure) -> String {
    match failure {
        Failure::Usage(why) | Failure::Failed(why) => why,
    }
}

fn median_us(mut request: impl FnMut() -> Result<(), String>) -> Result<f64, String> {
    let mut times = Vec::new();
    for _ in 0..REQUESTS {
        let begun = Instant::now();
        request()?;
        times.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[REQUESTS / 2])
}

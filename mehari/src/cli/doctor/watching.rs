//! Watches a running server for a time: its own counts, the growth of a worker's variables, the
//! kernel's counts, and samples of its slowest page.

use super::examination::LEAST_SAMPLING;
use super::measuring::KernelCounts;
use crate::cli::growth::{busiest, FirstLooks, Growth};
use crate::cli::interrupt;
use mehari_console::{processes_below, WatchedServer};
use mehari_profile::{Profile, RequestFilter, Sampler, SamplingPlan};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A page is slow if it takes at least this time, in microseconds.
pub const SLOW_US: f64 = 20_000.0;
/// The looks per second at each process.
const RATE: f64 = 199.0;
/// How often new processes are looked for. The search reads /proc, and no look is made meanwhile.
const SEARCH: Duration = Duration::from_millis(200);

/// What the server did between two looks.
pub struct WatchedSpan {
    pub seconds: f64,
    /// The server's answers to `watch`, each with the machine.
    pub before: Value,
    pub after: Value,
    pub places: Vec<WatchedPlace>,
    pub growth: Result<Growth, String>,
    pub kernel: [KernelCounts; 2],
    /// The messages of one line of Perl, the most frequent first.
    pub errors: Vec<WatchedError>,
    /// By how many bytes the error log grew. `None`: it is no file.
    pub error_log_bytes: Option<u64>,
    /// The slowest page, with samples of its requests.
    pub sampled: Option<SampledPlace>,
}

/// Messages of the error log from one line of Perl.
#[derive(Debug, Clone)]
pub struct WatchedError {
    pub file: String,
    pub line: u32,
    /// The last message.
    pub message: String,
    pub count: f64,
}

/// The requests of one place during the span. Times are in microseconds.
#[derive(Debug, Clone)]
pub struct WatchedPlace {
    pub host: String,
    pub path: String,
    pub requests: f64,
    pub took_us: f64,
    pub queued_us: f64,
    pub p99_us: f64,
}

pub struct SampledPlace {
    pub path: String,
    pub profile: Profile,
}

impl WatchedSpan {
    /// Looks at the server, runs `during`, and looks again.
    pub fn watch(
        server: &WatchedServer,
        pid: u32,
        error_log: Option<&Path>,
        during: impl FnOnce() -> Result<Option<SampledPlace>, String>,
    ) -> Result<WatchedSpan, String> {
        server.status()?; // begins the server's counting
        let first_places = places(server)?;
        let first_errors = errors(server)?;
        let looks = FirstLooks::at(busiest(&server.status()?));
        let kernel = KernelCounts::of(pid);
        let log_size = || Some(std::fs::metadata(error_log?).ok()?.len());
        let log = log_size();
        let begun = Instant::now();
        let before = server.now()?;
        let sampled = during()?;
        let after = server.now()?;
        let seconds = begun.elapsed().as_secs_f64();
        Ok(WatchedSpan {
            seconds,
            places: since(&first_places, places(server)?),
            errors: new_errors(&first_errors, errors(server)?),
            growth: looks.and_then(|looks| looks.again(&server.status()?)),
            kernel: [kernel, KernelCounts::of(pid)],
            error_log_bytes: log.and_then(|before| Some(log_size()?.saturating_sub(before))),
            before,
            after,
            sampled,
        })
    }

    pub fn requests(&self) -> f64 {
        self.gained("/watched/requests")
    }

    /// Returns by how much a count of the server's answer has grown.
    pub fn gained(&self, pointer: &str) -> f64 {
        let count = |answer: &Value| answer.pointer(pointer).and_then(Value::as_f64);
        count(&self.after).unwrap_or_default() - count(&self.before).unwrap_or_default()
    }

    /// Returns the share of all cores' time that was idle, from 0 to 1.
    pub fn idle_share(&self) -> f64 {
        let ticks = |names: &[&str]| -> f64 {
            let each = names.iter();
            each.map(|name| self.gained(&format!("/machine/cpu/{name}")))
                .sum()
        };
        let idle = ticks(&["idle", "wait"]);
        let busy = ticks(&["user", "nice", "system", "interrupts", "stolen"]);
        idle / (idle + busy).max(1.0)
    }

    /// Returns the buckets of a histogram: the largest microseconds, and the requests of the span.
    pub fn histogram(&self, name: &str) -> Vec<(f64, f64)> {
        let buckets = |answer: &Value| -> HashMap<u64, f64> {
            let list = answer["watched"][name].as_array().into_iter().flatten();
            list.filter_map(|pair| Some((pair[0].as_u64()?, pair[1].as_f64()?)))
                .collect()
        };
        let before = buckets(&self.before);
        let mut gained: Vec<(f64, f64)> = buckets(&self.after)
            .into_iter()
            .map(|(us, count)| (us as f64, count - before.get(&us).unwrap_or(&0.0)))
            .filter(|(_, count)| *count > 0.0)
            .collect();
        gained.sort_by(|one, other| one.0.total_cmp(&other.0));
        gained
    }
}

/// Returns the value below which the share `part` of a histogram lies.
pub fn quantile(histogram: &[(f64, f64)], part: f64) -> f64 {
    let all: f64 = histogram.iter().map(|(_, count)| count).sum();
    let mut below = 0.0;
    for (us, count) in histogram {
        below += count;
        if below >= part * all {
            return *us;
        }
    }
    0.0
}

fn places(server: &WatchedServer) -> Result<Vec<WatchedPlace>, String> {
    let answer = server.list("places")?;
    let place = |place: &Value| {
        let number = |name: &str| place[name].as_f64().unwrap_or_default();
        WatchedPlace {
            host: place["host"].as_str().unwrap_or_default().to_owned(),
            path: place["path"].as_str().unwrap_or_default().to_owned(),
            requests: number("requests"),
            took_us: number("took_us"),
            queued_us: number("queued_us"),
            p99_us: number("p99_us"),
        }
    };
    let list = answer["places"].as_array().into_iter().flatten();
    Ok(list.map(place).collect())
}

/// Returns what was added to each place. The place with the most time stands first.
fn since(before: &[WatchedPlace], after: Vec<WatchedPlace>) -> Vec<WatchedPlace> {
    let known: HashMap<(&str, &str), &WatchedPlace> = before
        .iter()
        .map(|place| ((place.host.as_str(), place.path.as_str()), place))
        .collect();
    let mut gained: Vec<WatchedPlace> = after
        .into_iter()
        .map(|mut place| {
            if let Some(old) = known.get(&(place.host.as_str(), place.path.as_str())) {
                place.requests -= old.requests;
                place.took_us -= old.took_us;
                place.queued_us -= old.queued_us;
            }
            place
        })
        .filter(|place| place.requests > 0.0)
        .collect();
    gained.sort_by(|one, other| other.took_us.total_cmp(&one.took_us));
    gained
}

/// Returns the server's groups of messages that name a line of Perl.
fn errors(server: &WatchedServer) -> Result<Vec<WatchedError>, String> {
    let answer = server.list("errors")?;
    let error = |group: &Value| {
        let (file, line) = group["place"].as_str()?.rsplit_once(':')?;
        Some(WatchedError {
            file: file.to_owned(),
            line: line.parse().ok()?,
            message: group["message"].as_str().unwrap_or_default().to_owned(),
            count: group["count"].as_f64().unwrap_or_default(),
        })
    };
    let list = answer["errors"].as_array().into_iter().flatten();
    Ok(list.filter_map(error).collect())
}

/// Returns what was added to each group.
fn new_errors(before: &[WatchedError], after: Vec<WatchedError>) -> Vec<WatchedError> {
    let count = |errors: &[WatchedError], of: &WatchedError| -> f64 {
        let same = |it: &&WatchedError| it.file == of.file && it.line == of.line;
        errors.iter().filter(same).map(|it| it.count).sum()
    };
    let mut gained: Vec<WatchedError> = Vec::new();
    for error in &after {
        if count(&gained, error) == 0.0 {
            let count = count(&after, error) - count(before, error);
            gained.push(WatchedError {
                count,
                ..error.clone()
            });
        }
    }
    gained.retain(|error| error.count > 0.0);
    gained.sort_by(|one, other| other.count.total_cmp(&one.count));
    gained
}

impl WatchedPlace {
    /// Returns the mean time of a request without its wait for a worker.
    pub fn mean_us(&self) -> f64 {
        (self.took_us - self.queued_us).max(0.0) / self.requests.max(1.0)
    }
}

/// Waits half of the time, then samples the slowest page for the other half.
pub fn waited(
    server: &WatchedServer,
    pid: u32,
    duration: Duration,
) -> Result<Option<SampledPlace>, String> {
    let first = places(server)?;
    let is_over = interrupt::flag()?;
    let half = duration / 2;
    let begun = Instant::now();
    while begun.elapsed() < half && !is_over.load(Ordering::Relaxed) {
        let left = half.saturating_sub(begun.elapsed());
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
    let slow = since(&first, places(server)?)
        .into_iter()
        .find(|place| place.mean_us() >= SLOW_US && place.path.starts_with('/'));
    let left = duration.saturating_sub(begun.elapsed()).max(LEAST_SAMPLING);
    let filter = match &slow {
        Some(place) => RequestFilter::url(&place.path)?,
        // Nothing is slow yet. The time goes on without samples.
        None => {
            let begun = Instant::now();
            while begun.elapsed() < left && !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(20));
            }
            return Ok(None);
        }
    };
    let profile = sampled(pid, filter, left, &|| is_over.load(Ordering::Relaxed));
    Ok(slow.map(|place| SampledPlace {
        path: place.path,
        profile,
    }))
}

/// Samples the requests that the filter takes, in all processes of the server.
pub fn sampled(
    pid: u32,
    filter: RequestFilter,
    duration: Duration,
    stop: &dyn Fn() -> bool,
) -> Profile {
    let plan = SamplingPlan {
        duration,
        rate: RATE,
        only: Some(filter),
        search_interval: SEARCH,
    };
    Sampler::without_processes().run(&plan, &mut || processes_below(pid), stop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_by_their_line() {
        let error = |line: u32, count: f64| WatchedError {
            file: "/a.pl".to_owned(),
            line,
            message: String::new(),
            count,
        };
        let before = [error(3, 2.0), error(5, 1.0)];
        let after = vec![error(3, 4.0), error(3, 5.0), error(5, 1.0), error(7, 1.0)];
        let gained = new_errors(&before, after);
        let told: Vec<(u32, f64)> = gained.iter().map(|it| (it.line, it.count)).collect();
        assert_eq!(told, [(3, 7.0), (7, 1.0)]);
    }

    #[test]
    fn quantiles_and_places_are_those_of_the_span() {
        let histogram = [(10.0, 98.0), (1000.0, 1.0), (5000.0, 1.0)];
        assert_eq!(quantile(&histogram, 0.5), 10.0);
        assert_eq!(quantile(&histogram, 0.99), 1000.0);
        assert_eq!(quantile(&[], 0.99), 0.0);
        let place = |path: &str, requests: f64, took_us: f64| WatchedPlace {
            host: String::new(),
            path: path.to_owned(),
            requests,
            took_us,
            queued_us: 0.0,
            p99_us: 0.0,
        };
        let before = [place("/a", 10.0, 100.0), place("/b", 1.0, 1.0)];
        let after = vec![
            place("/a", 12.0, 160.0),
            place("/b", 1.0, 1.0),
            place("/c", 1.0, 90.0),
        ];
        let gained = since(&before, after);
        let paths: Vec<&str> = gained.iter().map(|place| place.path.as_str()).collect();
        assert_eq!(paths, ["/c", "/a"]);
        assert_eq!(gained[1].mean_us(), 30.0);
    }
}

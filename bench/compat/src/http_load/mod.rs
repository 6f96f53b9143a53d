//! `http_load` (12mar2006): requests random URLs of a file, with a number of parallel fetches or a
//! rate per second.

mod options;
mod report;
mod tally;
mod urls;

use super::console::{Console, Refusal};
use super::{drawn, engine};
use mehari_load::{Arrivals, Connection, Plan, Schedule, Sources, Stop, TlsPolicy};
use options::{End, Options, Start};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;
use tally::Tally;

/// Returns the text of `mehari http_load --help`.
pub fn help() -> String {
    options::USAGE.into()
}

/// Runs `http_load` with the arguments after its name. Returns the exit status.
pub fn run(arguments: &[OsString], console: &Console) -> u8 {
    let status = Options::parse(arguments)
        .and_then(|options| perform(&Arc::new(options), console))
        .unwrap_or_else(|refusal| refusal.print(console));
    console.flush();
    status
}

fn perform(options: &Arc<Options>, console: &Console) -> Result<u8, Refusal> {
    console.err(options.notices.concat());
    let targets = urls::read(options)?;
    let sources = match &options.sources {
        Some(file) => Sources::Fixed(urls::sources(file)?),
        None => Sources::Automatic,
    };
    let (names, requests) = targets
        .into_iter()
        .map(|target| (target.url, target.request))
        .unzip();
    let mut plan = Plan::new(requests, schedule(options), stop(options));
    plan.seed = options.seed;
    plan.tick = Duration::from_millis(100);
    plan.drain = drain(options);
    plan.connection = Connection {
        keep_alive: false,
        sources,
        throttle: options.throttle,
        timeout: Duration::from_secs(u64::from(options.timeout)),
        tls: Arc::new(TlsPolicy {
            insecure: true,
            ..TlsPolicy::default()
        }),
        ..Connection::default()
    };
    let tally = Tally::new(options.clone(), console.clone(), names);
    let (mut tally, ran) = engine::run_plan(plan, tally)
        .map_err(|error| Refusal::to_stderr(1, format!("http_load: {error}\n")))?;
    // The last fetch may end before the time of -seconds is over, but the rates cover the whole
    // time.
    let asked = match options.end {
        End::Seconds(seconds) if !ran.interrupted => f64::from(seconds),
        _ => 0.0,
    };
    tally.measured.elapsed = ran.elapsed.as_secs_f64().max(asked);
    console.out(report::text(options, &tally.measured));
    Ok(0)
}

/// Returns how long the run waits for the fetches that are under way after the last start. With
/// -fetches it waits for the last answer (`None`). With -seconds and -parallel it does not wait.
/// With -seconds and -rate it waits for one interval between starts.
fn drain(options: &Options) -> Option<Duration> {
    match (options.end, options.start) {
        (End::Fetches(_), _) => None,
        (End::Seconds(_), Start::Parallel(_)) => Some(Duration::ZERO),
        (End::Seconds(_), Start::Rate(rate)) => Some(Duration::from_secs(1) / rate),
    }
}

fn stop(options: &Options) -> Stop {
    match options.end {
        End::Fetches(count) => Stop::after_requests(u64::from(count)),
        End::Seconds(seconds) => Stop::after_time(Duration::from_secs(u64::from(seconds))),
    }
}

fn schedule(options: &Options) -> Schedule {
    let rate = match options.start {
        Start::Parallel(connections) => {
            return Schedule::Closed {
                connections: connections as usize,
            }
        }
        Start::Rate(rate) => rate,
    };
    // The original's timer counts whole milliseconds: for a rate of 300 it starts 333 fetches per
    // second.
    let between = if options.bug_compatible {
        f64::from(1000 / rate) / 1000.0
    } else {
        1.0 / f64::from(rate)
    };
    let most_connections = u32::MAX as usize;
    if !options.jitter {
        return Schedule::Open {
            rate: 1.0 / between,
            arrivals: Arrivals::Constant,
            most_connections,
        };
    }
    let count = match options.end {
        End::Fetches(count) => u64::from(count),
        End::Seconds(seconds) => u64::from(seconds) * u64::from(rate) * 12 / 10,
    };
    Schedule::Stages {
        stages: drawn::stages(between * 0.9, between * 1.1, count, options.seed),
        arrivals: Arrivals::Constant,
        most_connections,
    }
}

//! `mehari profile`: samples running Perl processes from outside and says where their time goes.

use super::bench::parse::time;
use super::{arguments, control};
use clap::Parser;
use mehari_console::processes_below;
use mehari_profile::{output, Profile, RequestFilter, Sampler, SamplingPlan};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

#[derive(Parser)]
#[command(
    name = "mehari profile",
    about = "Samples the Perl of a running server, or of any process, and says where its time goes",
    after_help = "Examples:\n  mehari profile\n  mehari profile --worker 4711 -d 30s\n  mehari profile --pid 815 --rate 999\n  mehari profile --location /shop -o shop.html\n\n\
                  The processes run on while they are read, and need no module and no restart. Ctrl-C ends the\n\
                  sampling early and prints the report. For a perl without the server's modules, its headers\n\
                  (perl.h) and a C compiler are needed once."
)]
pub struct ProfileOptions {
    /// Any process with a perl in it, in place of the server's.
    #[arg(long, value_name = "PID", conflicts_with_all = ["worker", "control"])]
    pid: Option<u32>,
    /// One worker, as `mehari status` numbers it; by default all Perl processes of the server.
    #[arg(long, value_name = "PID")]
    worker: Option<u32>,
    /// Only requests for this path and everything below it.
    #[arg(long, value_name = "PATH", value_parser = RequestFilter::location, conflicts_with = "pid")]
    location: Option<RequestFilter>,
    /// Only requests for this URL or path, with any query unless it names one.
    #[arg(long, value_name = "URL", value_parser = RequestFilter::url, conflicts_with_all = ["pid", "location"])]
    url: Option<RequestFilter>,
    /// How long to sample.
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = time)]
    duration: Duration,
    /// Samples a second of each process.
    #[arg(long, value_name = "HZ", default_value = "99", value_parser = rate)]
    rate: f64,
    /// Write this file: a page with a flame graph (.html), pprof's format (.pb.gz), the Firefox
    /// Profiler's (.json) or text (.txt).
    #[arg(short, long, value_name = "FILE", value_parser = profile_file)]
    output: Option<ProfileFile>,
    /// Print the call tree.
    #[arg(long, conflicts_with = "dprofpp")]
    tree: bool,
    /// Print dprofpp's table.
    #[arg(long)]
    dprofpp: bool,
    /// The lines of each table.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    rows: usize,
    /// The server's control socket; needed only when several servers run.
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (0.1..=10_000.0).contains(&rate) => Ok(rate),
        _ => Err("expected samples a second from 0.1 to 10000".to_owned()),
    }
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: ProfileOptions = match arguments::parse("mehari profile", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    match sample(&options).and_then(|profile| give(&options, &profile)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("mehari profile: {reason}");
            ExitCode::from(1)
        }
    }
}

fn sample(options: &ProfileOptions) -> Result<Profile, String> {
    let found = SampledProcesses::of(options)?;
    let sampler = match &found {
        SampledProcesses::One(pid) => Sampler::new(&[*pid]),
        SampledProcesses::Server { workers, .. } => Sampler::new(workers),
    };
    let sampler = sampler.map_err(|error| error.to_string())?;
    let is_over = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, is_over.clone()).map_err(|error| error.to_string())?;
    }
    let plan = SamplingPlan {
        duration: options.duration,
        rate: options.rate,
        only: options.location.clone().or(options.url.clone()),
    };
    let stop = || is_over.load(Ordering::Relaxed);
    eprintln!(
        "mehari profile: sampling {} for {:?}; Ctrl-C ends it early",
        found.told(),
        options.duration
    );
    Ok(sampler.run(&plan, &mut || found.now(), &stop))
}

/// Writes the profile to the file, or the report to standard output.
fn give(options: &ProfileOptions, profile: &Profile) -> Result<(), String> {
    let Some(file) = &options.output else {
        say!("{}", report(options, profile));
        return Ok(());
    };
    let bytes = match file.format {
        ProfileFormat::Text => Ok(report(options, profile).into_bytes()),
        ProfileFormat::Page => Ok(output::html(profile).into_bytes()),
        ProfileFormat::Pprof => output::pprof(profile),
        ProfileFormat::Firefox => output::firefox(profile),
    };
    let written = bytes.and_then(|bytes| std::fs::write(&file.path, bytes));
    written.map_err(|error| format!("{}: {error}", file.path.display()))?;
    let count = profile.observations.len();
    sayln!("mehari profile: {count} samples in {}", file.path.display());
    Ok(())
}

fn report(options: &ProfileOptions, profile: &Profile) -> String {
    if options.tree {
        output::tree(profile)
    } else if options.dprofpp {
        output::dprofpp(profile, options.rows)
    } else {
        output::text(profile, options.rows)
    }
}

/// A file to write, whose name tells the format.
#[derive(Debug, Clone)]
struct ProfileFile {
    path: PathBuf,
    format: ProfileFormat,
}

#[derive(Debug, Clone, Copy)]
enum ProfileFormat {
    Text,
    Page,
    Pprof,
    Firefox,
}

const FORMATS: &[(&str, ProfileFormat)] = &[
    (".html", ProfileFormat::Page),
    (".pb.gz", ProfileFormat::Pprof),
    (".json", ProfileFormat::Firefox),
    (".txt", ProfileFormat::Text),
];

fn profile_file(text: &str) -> Result<ProfileFile, String> {
    let known = FORMATS.iter().find(|(end, _)| text.ends_with(end));
    let ends: Vec<&str> = FORMATS.iter().map(|(end, _)| *end).collect();
    let (_, format) =
        known.ok_or_else(|| format!("expected a name that ends with {}", ends.join(", ")))?;
    Ok(ProfileFile {
        path: text.into(),
        format: *format,
    })
}

/// The processes to sample.
enum SampledProcesses {
    One(u32),
    /// All that the front has started, and what these have started.
    Server {
        front: u32,
        workers: Vec<u32>,
    },
}

impl SampledProcesses {
    fn of(options: &ProfileOptions) -> Result<SampledProcesses, String> {
        if let Some(pid) = options.pid {
            return Ok(SampledProcesses::One(pid));
        }
        let status = control::ask(options.control.as_deref(), "status")?;
        let workers = status["pool"]["workers"].as_array();
        let workers = workers.into_iter().flatten();
        let pid = |it: &serde_json::Value| it["pid"].as_u64().and_then(|pid| pid.try_into().ok());
        let workers: Vec<u32> = workers.filter_map(pid).collect();
        match options.worker {
            Some(worker) if workers.contains(&worker) => Ok(SampledProcesses::One(worker)),
            Some(worker) => Err(format!(
                "the server has no worker {worker}; it has {}",
                listed(&workers)
            )),
            None if workers.is_empty() => Err("the server has no worker yet".to_owned()),
            None => Ok(SampledProcesses::Server {
                front: pid(&status).unwrap_or_default(),
                workers,
            }),
        }
    }

    fn told(&self) -> String {
        match self {
            SampledProcesses::One(pid) => format!("process {pid}"),
            SampledProcesses::Server { front, workers } => {
                format!("{} workers of the server {front}", workers.len())
            }
        }
    }

    fn now(&self) -> Vec<u32> {
        match self {
            SampledProcesses::One(_) => Vec::new(),
            SampledProcesses::Server { front, .. } => processes_below(*front),
        }
    }
}

fn listed(workers: &[u32]) -> String {
    let words: Vec<String> = workers.iter().map(u32::to_string).collect();
    match words.len() {
        0 => "none".to_owned(),
        _ => words.join(", "),
    }
}

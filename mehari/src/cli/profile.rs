//! `mehari profile`: samples running Perl processes from outside and says where their time goes.

mod exact;
mod file;
mod keeping;
mod moment;
mod processes;

use super::arguments;
use super::bench::parse::time;
use super::interrupt;
use clap::Parser;
use file::{profile_file, ProfileFile, ProfileFormat};
use mehari_profile::{output, Clock, Difference};
use mehari_profile::{Profile, RequestFilter, Sampler, SamplingPlan};
use moment::Moment;
use processes::SampledProcesses;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[derive(Parser)]
#[command(
    name = "mehari profile",
    about = "Samples the Perl of a running server, or of any process, and says where its time goes",
    after_help = "Examples:\n  mehari profile\n  mehari profile --worker 4711 -d 30s\n  mehari profile --pid 815 --rate 999\n  mehari profile --location /shop -o shop.html\n  mehari profile --at 14:05\n  mehari profile --exact http://127.0.0.1:8080/shop -o shop-profile\n  mehari profile --exact --location /shop --one-in 100 -d 30s\n  mehari profile --difference before.profile after.profile\n\n\
                  The processes keep running while they are sampled. They need no module and no restart. Ctrl-C\n\
                  ends the sampling early and prints the report. The first profile of a perl that lacks the server's\n\
                  modules needs that perl's headers (perl.h) and a C compiler.\n\n\
                  --exact counts every statement of chosen requests with Devel::NYTProf. The server starts a process\n\
                  for these requests alone. All other requests are served as always."
)]
pub struct ProfileOptions {
    /// With --exact: send a request for this address to the running server, and profile it.
    #[arg(value_name = "URL", requires = "exact", conflicts_with_all = ["location", "duration"])]
    address: Option<String>,
    /// Measure every statement and sub of chosen requests with Devel::NYTProf, and write its
    /// reports to the folder `-o` (`nytprof`).
    #[arg(long, conflicts_with_all = ["pid", "worker", "url", "rate", "tree", "dprofpp"])]
    exact: bool,
    /// With --exact --location: profile one of N requests.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "exact", conflicts_with = "address",
          value_parser = clap::value_parser!(u32).range(1..))]
    one_in: u32,
    /// With --exact URL: how many requests to send and profile.
    #[arg(long, value_name = "COUNT", default_value_t = 1, requires = "address",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    count: u32,
    /// With --exact: leave this number of first requests out of the report, because they load and
    /// compile code.
    #[arg(long, value_name = "COUNT", default_value_t = 0, requires = "exact",
          value_parser = clap::value_parser!(u32).range(..=1000))]
    warm: u32,
    /// A process that runs perl. The server's processes are then left out.
    #[arg(long, value_name = "PID", conflicts_with_all = ["worker", "control"])]
    pid: Option<u32>,
    /// One worker, by its number in `mehari status`. By default: all Perl processes of the server.
    #[arg(long, value_name = "PID")]
    worker: Option<u32>,
    /// Only requests for this path and everything below it.
    #[arg(long, value_name = "PATH", value_parser = RequestFilter::location, conflicts_with = "pid")]
    location: Option<RequestFilter>,
    /// Only requests for this URL or path. If it has no query, every query matches.
    #[arg(long, value_name = "URL", value_parser = RequestFilter::url, conflicts_with_all = ["pid", "location"])]
    url: Option<RequestFilter>,
    /// How long to sample.
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = time)]
    duration: Duration,
    /// Samples per second of each process.
    #[arg(long, value_name = "HZ", default_value = "99", value_parser = rate)]
    rate: f64,
    /// Write this file. Its ending chooses the format: .html a page with a flame graph, .pb.gz
    /// pprof's format, .json the Firefox Profiler's format, .txt text, .profile the whole profile
    /// for --read and --difference.
    #[arg(short, long, value_name = "FILE", value_parser = profile_file)]
    output: Option<ProfileFile>,
    /// Print the call tree.
    #[arg(long, conflicts_with = "dprofpp")]
    tree: bool,
    /// Print a table like that of dprofpp.
    #[arg(long)]
    dprofpp: bool,
    /// The number of lines of each table.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    rows: usize,
    /// Report a profile that `-o FILE.profile` has written.
    #[arg(long, value_name = "FILE", group = "kept", conflicts_with_all = SAMPLING)]
    read: Option<PathBuf>,
    /// Compare two profiles that `-o FILE.profile` has written: which shares of the time have
    /// changed, and whether the change is proven.
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], group = "kept", conflicts_with_all = SAMPLING)]
    difference: Option<Vec<PathBuf>>,
    /// With --difference: compare the elapsed time, which includes waits.
    #[arg(long, requires = "difference")]
    wall: bool,
    /// Report the samples of the directive ProfileAlways in this minute: `14:05`, `2026-05-01
    /// 14:05`, or `-10m` (ten minutes ago).
    #[arg(long, value_name = "TIME", value_parser = moment::moment, allow_hyphen_values = true, group = "kept", conflicts_with_all = SAMPLING)]
    at: Option<Moment>,
    /// Report the samples of ProfileAlways from this time on.
    #[arg(long, value_name = "TIME", value_parser = moment::moment, allow_hyphen_values = true, group = "kept", conflicts_with_all = SAMPLING)]
    from: Option<Moment>,
    /// The time at which the samples of --from end. By default: now.
    #[arg(long, value_name = "TIME", value_parser = moment::moment, allow_hyphen_values = true, requires = "from")]
    to: Option<Moment>,
    /// The ProfileFolder of a server that does not run now.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["read", "difference"])]
    folder: Option<PathBuf>,
    /// The server's control socket; needed only when several servers run.
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
}

/// The options that make no sense for samples that are kept.
const SAMPLING: [&str; 7] = [
    "pid", "worker", "location", "url", "duration", "rate", "exact",
];

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
    match answer(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("mehari profile: {reason}");
            ExitCode::from(1)
        }
    }
}

fn answer(options: &ProfileOptions) -> Result<(), String> {
    if options.exact {
        return exact::profile(options);
    }
    if let Some(file) = &options.output {
        file.expect_file()?;
    }
    if let Some([before, after]) = options.difference.as_deref() {
        let (before, after) = (keeping::read_file(before)?, keeping::read_file(after)?);
        return give_difference(options, &before, &after);
    }
    let profile = match (&options.read, options.at.or(options.from)) {
        (Some(file), _) => keeping::read_file(file)?,
        (None, Some(from)) => keeping::between(options, from)?,
        (None, None) => sample(options)?,
    };
    give(options, &profile)
}

fn sample(options: &ProfileOptions) -> Result<Profile, String> {
    let found = SampledProcesses::of(options)?;
    let sampler = match &found {
        SampledProcesses::One(pid) => Sampler::new(&[*pid]),
        SampledProcesses::Server { workers, .. } => Sampler::new(workers),
    };
    let sampler = sampler.map_err(|error| error.to_string())?;
    let is_over = interrupt::flag()?;
    let plan = SamplingPlan {
        duration: options.duration,
        rate: options.rate,
        only: options.location.clone().or(options.url.clone()),
        ..SamplingPlan::default()
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
        ProfileFormat::Text | ProfileFormat::Folder => Ok(report(options, profile).into_bytes()),
        ProfileFormat::Page => Ok(output::html(profile).into_bytes()),
        ProfileFormat::Pprof => output::pprof(profile),
        ProfileFormat::Firefox => output::firefox(profile),
        ProfileFormat::Kept => keeping::bytes(profile),
    };
    write(file, bytes)?;
    let count = profile.samples();
    sayln!("mehari profile: {count} samples in {}", file.path.display());
    Ok(())
}

fn write(file: &ProfileFile, bytes: std::io::Result<Vec<u8>>) -> Result<(), String> {
    let written = bytes.and_then(|bytes| std::fs::write(&file.path, bytes));
    written.map_err(|error| format!("{}: {error}", file.path.display()))
}

fn give_difference(
    options: &ProfileOptions,
    before: &Profile,
    after: &Profile,
) -> Result<(), String> {
    let clock = if options.wall {
        Clock::Wall
    } else {
        Clock::Cpu
    };
    let difference = Difference {
        before,
        after,
        clock,
    };
    let Some(file) = &options.output else {
        say!("{}", output::difference_text(&difference, options.rows));
        return Ok(());
    };
    let text = match file.format {
        ProfileFormat::Page => output::difference_html(&difference),
        ProfileFormat::Text => output::difference_text(&difference, options.rows),
        _ => return Err("a difference is written as .html or .txt".to_owned()),
    };
    write(file, Ok(text.into_bytes()))?;
    sayln!("mehari profile: the difference in {}", file.path.display());
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

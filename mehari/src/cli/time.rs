//! `mehari time`: which of some Perl subs is faster, and whether the difference is proven.

mod files;
mod table;

use super::arguments;
use super::bench::parse::time;
use clap::Parser;
use mehari_time::{Clock, Effort, Job, TimeError, Timing};
use serde_json::json;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Parser)]
#[command(
    name = "mehari time",
    about = "Compares the speed of the subs of a Perl file, with an interval for each ratio",
    after_help = "Examples:\n  mehari time loops.pl\n  mehari time --wall --limit 1m queries.pl\n  mehari time --json examples/time/\n\n\
                  Each sub of the package main is timed, except subs whose names begin with `_`. All other code\n\
                  of the file runs once, when the file is loaded. The time is divided into many blocks. Each\n\
                  block has a perl of its own. In a block, the subs take turns, each in a forked process. The\n\
                  cost of calling an empty sub is subtracted. All intervals are 99 % confidence intervals.\n\n\
                  A file that calls timethis, timethese or cmpthese of the module Benchmark needs no change. The\n\
                  code that it passes to these functions is timed.\n\n\
                  These lines in a file are for the command:\n  \
                  # published: NAME 3.44     shows a figure of a document beside the measured one\n  \
                  # clock: wall              times the file as with --wall\n  \
                  # results: equal           refuses subs that do not all return and print the same"
)]
pub struct TimeOptions {
    /// Perl files, or folders of them.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The perl that runs the files: a name on PATH or a file.
    #[arg(long, value_name = "PROGRAM", default_value = "perl")]
    perl: PathBuf,
    /// The number of blocks. More blocks make the intervals narrower.
    #[arg(long, value_name = "COUNT", default_value_t = 20,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(6..=10_000))]
    blocks: usize,
    /// The time for which one sub is called before the next sub.
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = time)]
    slice: Duration,
    /// Compare the elapsed time instead of the processor time, for subs that wait.
    #[arg(long)]
    wall: bool,
    /// Also count instructions and allocations (malloc, calloc, realloc), with valgrind.
    #[arg(long)]
    instructions: bool,
    /// The longest time that the loading of a file may take, and that the calls of one slice may
    /// take.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    limit: Duration,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: TimeOptions = match arguments::parse("mehari time", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    match shown(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("mehari time: {reason}");
            ExitCode::from(1)
        }
    }
}

/// Measures file by file. Each table is printed as soon as its file is measured.
fn shown(options: &TimeOptions) -> Result<(), String> {
    let mut effort = Effort {
        blocks: options.blocks,
        slice: options.slice,
        clock: Clock::Cpu,
    };
    let mut reports = Vec::new();
    for (count, file) in files::found(&options.files)?.into_iter().enumerate() {
        let head = files::Head::read(&file)?;
        effort.clock = if options.wall || head.waits {
            Clock::Wall
        } else {
            Clock::Cpu
        };
        let job = Job {
            perl: options.perl.clone(),
            file,
            limit: options.limit,
        };
        let report = measured(&job, &effort, head, options).map_err(|error| error.to_string())?;
        if !options.json {
            say!("{}{}", if count > 0 { "\n" } else { "" }, report.text());
        }
        reports.push(report);
    }
    if options.json {
        say!("{:#}\n", json!({ "files": reports }));
    }
    Ok(())
}

fn measured(
    job: &Job,
    effort: &Effort,
    head: files::Head,
    options: &TimeOptions,
) -> Result<table::Report, TimeError> {
    if head.has_equal_results {
        mehari_time::compare_results(job)?;
    }
    let mut timing = Timing::measure(job, effort)?;
    if options.instructions {
        timing.count(job)?;
    }
    table::Report::of(timing, head)
}

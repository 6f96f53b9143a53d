//! `mehari sampler`: samples the Perl of a server all the time and keeps the samples of the last
//! day (`ProfileAlways`). Only the server starts this command.
//!
//! The process ends when its standard input ends, which happens when the server ends, however it
//! ends. The server writes the lines of this process's standard error to the error log.

use super::interrupt;
use clap::Parser;
use mehari_console::processes_below;
use mehari_profile::{Profile, SampleRing, Sampler, SamplingPlan};
use rustix::event::{poll, PollFd, PollFlags};
use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[derive(Parser)]
#[command(name = "mehari sampler", about = "The server starts this itself")]
struct SamplerOptions {
    /// The server.
    #[arg(long)]
    front: u32,
    /// Samples a second of each process.
    #[arg(long)]
    rate: f64,
    /// Where the samples are kept.
    #[arg(long)]
    folder: PathBuf,
    /// The most bytes of the folder.
    #[arg(long)]
    limit: u64,
}

/// The samples of this time are written together.
const PART: Duration = Duration::from_secs(10);
/// How long no sample is taken after samples could not be written.
const PAUSE: Duration = Duration::from_secs(60);
/// A search reads a few files of each process.
const SEARCH_INTERVAL: Duration = Duration::from_secs(1);

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: SamplerOptions = match super::arguments::parse("mehari sampler", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    let is_over = match interrupt::flag() {
        Ok(flag) => flag,
        Err(reason) => {
            eprintln!("{reason}");
            return ExitCode::FAILURE;
        }
    };
    let keeper = SampleKeeper {
        ring: RefCell::new(SampleRing::new(options.folder.clone(), options.limit)),
        failing: Cell::new(false),
        refused: RefCell::new(None),
        folder: options.folder.clone(),
    };
    let ends = || is_over.load(Ordering::Relaxed) || input_ends(Duration::ZERO);
    while !ends() {
        keeper.sample(&options, &ends);
        let rest = if keeper.failing.get() {
            PAUSE
        } else {
            // There was no process.
            SEARCH_INTERVAL
        };
        if input_ends(rest) {
            break;
        }
    }
    ExitCode::SUCCESS
}

/// Whether the standard input ends within this time. The server never writes anything.
fn input_ends(within: Duration) -> bool {
    let input = std::io::stdin();
    let mut polled = [PollFd::new(&input, PollFlags::IN)];
    let within = i32::try_from(within.as_millis()).unwrap_or(i32::MAX);
    matches!(poll(&mut polled, within), Ok(1..))
}

/// Keeps the parts, and says each trouble once.
struct SampleKeeper {
    ring: RefCell<SampleRing>,
    folder: PathBuf,
    /// Whether the last part could not be written.
    failing: Cell<bool>,
    /// The last reason that was told.
    refused: RefCell<Option<String>>,
}

impl SampleKeeper {
    /// Samples until `ends` or until a part cannot be written.
    fn sample(&self, options: &SamplerOptions, ends: &dyn Fn() -> bool) {
        let plan = SamplingPlan {
            duration: Duration::MAX,
            rate: options.rate,
            only: None,
            search_interval: SEARCH_INTERVAL,
        };
        let own = std::process::id();
        let mut find = || {
            let mut pids = processes_below(options.front);
            pids.retain(|&pid| pid != own);
            pids
        };
        let has_failed = Cell::new(false);
        let mut take = |part: Profile| has_failed.set(!self.keep(&part));
        let stop = || has_failed.get() || ends();
        let sampler = Sampler::without_processes();
        let last = sampler.run_in_parts(&plan, &mut find, &stop, PART, &mut take);
        if !has_failed.get() {
            self.keep(&last);
        }
    }

    /// Returns whether the part is kept.
    fn keep(&self, part: &Profile) -> bool {
        if part.facts.refused.is_some() && *self.refused.borrow() != part.facts.refused {
            self.refused.replace(part.facts.refused.clone());
            eprintln!(
                "not sampled: {}",
                part.facts.refused.as_deref().unwrap_or_default()
            );
        }
        if part.facts.looks == 0 {
            return true;
        }
        let kept = self.ring.borrow_mut().keep(part);
        let was_failing = self.failing.replace(kept.is_err());
        match kept {
            Err(error) if !was_failing => eprintln!(
                "{}: {error}: no samples are taken until the folder can be written",
                self.folder.display()
            ),
            Ok(()) if was_failing => eprintln!("samples are taken again"),
            _ => {}
        }
        !self.failing.get()
    }
}

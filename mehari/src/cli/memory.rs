//! `mehari memory`: the memory of the running server's Perl processes, what modules cost, and which
//! variables grow.

mod growing;
mod modules;
mod processes;

use super::bench::parse::time;
use super::{arguments, control};
use clap::Parser;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Parser)]
#[command(
    name = "mehari memory",
    about = "Shows the memory of each Perl process of the running server, what a module costs, or which variables grow",
    after_help = "Examples:\n  mehari memory\n  mehari memory --module CGI POSIX 'POSIX ()'\n  mehari memory --module DBI --rounds 10 --json\n  mehari memory --leaks -d 1m\n  mehari memory --leaks --pid 815\n\n\
                  A module is loaded in forked processes of its own, and the modules take turns. Code that\n\
                  runs while the module is loaded runs, as with `perl -c`. PERL5LIB is honoured.\n\n\
                  --leaks copies the process's memory twice and compares the variables. The process runs on and\n\
                  does nothing for it. Ctrl-C makes the second look at once."
)]
pub struct MemoryOptions {
    /// Measure modules: what follows `use` in a script, each in quotes if it has a list.
    #[arg(long, value_name = "MODULE", num_args = 1.., conflicts_with = "control")]
    module: Vec<String>,
    /// The perl that loads the modules: a name on PATH or a file.
    #[arg(
        long,
        value_name = "PROGRAM",
        default_value = "perl",
        requires = "module"
    )]
    perl: PathBuf,
    /// How often each module is loaded.
    #[arg(long, value_name = "COUNT", default_value = "5", requires = "module",
          value_parser = clap::value_parser!(u32).range(2..=1000))]
    rounds: u32,
    /// Name the variables that grow between two looks, and where Perl code changes them.
    #[arg(long, conflicts_with = "module")]
    leaks: bool,
    /// One worker, as `mehari status` numbers it; by default the one that has served most.
    #[arg(long, value_name = "PID", requires = "leaks")]
    worker: Option<u32>,
    /// Any process with a perl in it, in place of the server's.
    #[arg(long, value_name = "PID", requires = "leaks", conflicts_with_all = ["worker", "control"])]
    pid: Option<u32>,
    /// The time between the two looks.
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = time, requires = "leaks")]
    duration: Duration,
    /// The lines of the table of variables.
    #[arg(long, value_name = "COUNT", default_value_t = 20, requires = "leaks")]
    rows: usize,
    /// The server's control socket; needed only when several servers run.
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: MemoryOptions = match arguments::parse("mehari memory", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    let shown = if options.leaks {
        growing::shown(&options)
    } else if !options.module.is_empty() {
        modules::shown(&options)
    } else {
        control::ask(options.control.as_deref(), "status")
            .and_then(|status| processes::shown(&status, options.json))
    };
    match shown {
        Ok(text) => {
            say!("{text}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("mehari memory: {reason}");
            ExitCode::from(1)
        }
    }
}

//! `mehari memory`: the memory of the running server's Perl processes, and what modules cost.

mod modules;
mod processes;

use super::{arguments, control};
use clap::Parser;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(
    name = "mehari memory",
    about = "Shows the memory of each Perl process of the running server, or what a module costs",
    after_help = "Examples:\n  mehari memory\n  mehari memory --module CGI POSIX 'POSIX ()'\n  mehari memory --module DBI --rounds 10 --json\n\n\
                  A module is loaded in forked processes of its own, and the modules take turns. Code that\n\
                  runs while the module is loaded runs, as with `perl -c`. PERL5LIB is honoured."
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
    let shown = match options.module.is_empty() {
        true => control::ask(options.control.as_deref(), "status")
            .and_then(|status| processes::shown(&status, options.json)),
        false => modules::shown(&options),
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

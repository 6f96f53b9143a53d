//! `mehari crashme`: runs Mehari's load engine like the benchmark script of the mod_perl guide.

use mehari_compat::{crashme, Console};
use std::ffi::OsString;
use std::process::ExitCode;

/// Returns a grammar without options, because `mehari_compat` reads the arguments. The help text
/// describes them.
pub fn grammar() -> clap::Command {
    clap::Command::new("crashme").after_help(crashme::help())
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    ExitCode::from(crashme::run(&arguments, &Console::of_process()))
}

//! `mehari ab`: runs Mehari's load engine with ApacheBench's options and report.

use mehari_compat::{ab, Console};
use std::ffi::OsString;
use std::process::ExitCode;

/// Returns a grammar without options, because `mehari_compat` reads the arguments. The help text
/// describes them.
pub fn grammar() -> clap::Command {
    clap::Command::new("ab").after_help(ab::help())
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    ExitCode::from(ab::run(&arguments, &Console::of_process()))
}

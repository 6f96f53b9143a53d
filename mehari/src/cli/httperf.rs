//! `mehari httperf`: runs Mehari's load engine with httperf's options and report.

use mehari_compat::{httperf, Console};
use std::ffi::OsString;
use std::process::ExitCode;

/// Returns a grammar without options, because `mehari_compat` reads the arguments. The help text
/// describes them.
pub fn grammar() -> clap::Command {
    clap::Command::new("httperf").after_help(httperf::help())
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    ExitCode::from(httperf::run(&arguments, &Console::of_process()))
}

//! `mehari http_load`: runs Mehari's load engine with http_load's options and report.

use mehari_compat::{http_load, Console};
use std::ffi::OsString;
use std::process::ExitCode;

/// Returns a grammar without options, because `mehari_compat` reads the arguments. The help text
/// describes them.
pub fn grammar() -> clap::Command {
    clap::Command::new("http_load").after_help(http_load::help())
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    ExitCode::from(http_load::run(&arguments, &Console::of_process()))
}

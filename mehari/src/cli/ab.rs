//! `mehari ab`: ApacheBench's flags and report on our own engine.

use mehari_compat::{ab, Console};
use std::ffi::OsString;
use std::process::ExitCode;

/// The tool reads its arguments itself; its own text describes them.
pub fn grammar() -> clap::Command {
    clap::Command::new("ab").after_help(ab::help())
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    ExitCode::from(ab::run(&arguments, &Console::of_process()))
}

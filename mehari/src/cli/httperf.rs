//! `mehari httperf`: httperf's flags and report on our own engine.

use mehari_compat::{httperf, Console};
use std::ffi::OsString;
use std::process::ExitCode;

/// The tool reads its arguments itself; its own text describes them.
pub fn grammar() -> clap::Command {
    clap::Command::new("httperf").after_help(httperf::help())
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    ExitCode::from(httperf::run(&arguments, &Console::of_process()))
}

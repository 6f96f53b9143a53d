//! `mehari http_load`: http_load's flags and report on our own engine.

use mehari_compat::{http_load, Console};
use std::ffi::OsString;
use std::process::ExitCode;

/// The tool reads its arguments itself; its own text describes them.
pub fn grammar() -> clap::Command {
    clap::Command::new("http_load").after_help(http_load::help())
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    ExitCode::from(http_load::run(&arguments, &Console::of_process()))
}

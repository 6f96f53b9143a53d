//! `mehari crashme`: the mod_perl guide's benchmark script on our own engine.

use mehari_compat::{crashme, Console};
use std::ffi::OsString;
use std::process::ExitCode;

/// The tool reads its arguments itself; its own text describes them.
pub fn grammar() -> clap::Command {
    clap::Command::new("crashme").after_help(crashme::help())
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    ExitCode::from(crashme::run(&arguments, &Console::of_process()))
}

//! `mehari httperf`: httperf's flags and report on our own engine.

use mehari_compat::{httperf, Console};
use std::ffi::OsString;
use std::process::ExitCode;

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    ExitCode::from(httperf::run(&arguments, &Console::of_process()))
}

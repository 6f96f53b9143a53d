//! `mehari ab`: ApacheBench's flags and report on our own engine.

use mehari_compat::{ab, Console};
use std::ffi::OsString;
use std::process::ExitCode;

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    ExitCode::from(ab::run(&arguments, &Console::of_process()))
}

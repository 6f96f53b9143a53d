//! `mehari crashme`: the mod_perl guide's benchmark script on our own engine.

use mehari_compat::{crashme, Console};
use std::ffi::OsString;
use std::process::ExitCode;

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    ExitCode::from(crashme::run(&arguments, &Console::of_process()))
}

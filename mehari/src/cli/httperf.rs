//! `mehari httperf`.

use std::ffi::OsString;
use std::process::ExitCode;

pub fn run(_arguments: Vec<OsString>) -> ExitCode {
    eprintln!("mehari httperf: this command is not built yet");
    ExitCode::from(2)
}

//! `mehari serve`.

use std::ffi::OsString;
use std::process::ExitCode;

pub fn run(_arguments: Vec<OsString>) -> ExitCode {
    eprintln!("mehari serve: this command is not built yet");
    ExitCode::from(2)
}

//! `mehari upgrade`: has the server start its program again. The new process takes over the
//! listening sockets.

use super::control;
use std::ffi::OsString;
use std::process::ExitCode;

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    control::command("upgrade", arguments, control::message)
}

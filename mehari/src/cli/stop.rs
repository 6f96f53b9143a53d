//! `mehari stop`: stops the server, through the control socket.

use super::control;
use std::ffi::OsString;
use std::process::ExitCode;

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    control::command("stop", arguments, control::message)
}

//! `mehari reload`: has the server read its configuration again, through the control socket.

use super::control;
use std::ffi::OsString;
use std::process::ExitCode;

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    control::command("reload", arguments, control::message)
}

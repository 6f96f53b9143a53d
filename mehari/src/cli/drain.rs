//! `mehari drain NAME` and `mehari resume NAME`: stop and allow new requests to a back end, through
//! the control socket.

use super::control;
use std::ffi::OsString;
use std::process::ExitCode;

pub fn drain(arguments: Vec<OsString>) -> ExitCode {
    control::named_command("drain", arguments)
}

pub fn resume(arguments: Vec<OsString>) -> ExitCode {
    control::named_command("resume", arguments)
}

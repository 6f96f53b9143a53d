//! `mehari reload`: has the server read its configuration again, or load one pool anew, through the
//! control socket.

use super::{arguments, control};
use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;

#[derive(Parser)]
pub struct ReloadOptions {
    /// Load the Perl of this <PerlPool> again. The configuration is not read again. The other pools
    /// and the main server do not change.
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    #[command(flatten)]
    options: control::Options,
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let reload: ReloadOptions = match arguments::parse("mehari reload", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    let order = match &reload.pool {
        None => "reload".to_owned(),
        Some(name) if name.is_empty() || name.contains(char::is_control) => {
            eprintln!("mehari reload: --pool: expected the name of a <PerlPool>");
            return ExitCode::from(2);
        }
        Some(name) => format!("reload {name}"),
    };
    control::run(&order, &reload.options, control::message)
}

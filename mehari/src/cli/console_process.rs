//! `mehari console-process`: serves the pages of `SetHandler mehari-console`. Only the server
//! starts this command, and only the server may connect.
//!
//! The standard input is a listening socket. The standard output is the channel on which this
//! process asks the server (`serve/questions.rs`).

use super::control;
use super::serve::questions::QUESTION;
use mehari_console::{Console, WatchedServer};
use mehari_loopback::Service;
use serde_json::Value;
use std::ffi::OsString;
use std::io::IoSlice;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::ExitCode;

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    if !arguments.is_empty() {
        eprintln!("mehari console-process: the server starts this itself; expected no argument");
        return ExitCode::from(2);
    }
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("mehari console-process: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let server = rustix::process::getppid().ok_or("the server has ended")?;
    let listener = std::io::stdin().as_fd().try_clone_to_owned();
    let listener = UnixListener::from(listener.map_err(failed)?);
    let channel = std::io::stdout().as_fd().try_clone_to_owned();
    let channel = channel.map_err(failed)?;
    let watched = WatchedServer::new(Box::new(move |line| ask(&channel, line)));
    let service = Service::behind_server("the console", Console::new(watched));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    let server = server.as_raw_nonzero().get();
    runtime
        .block_on(service.serve_server(listener, server))
        .map_err(failed)
}

/// Asks the server one question.
fn ask(channel: &OwnedFd, line: &str) -> Result<Value, String> {
    let lost = |error: std::io::Error| format!("the server does not answer: {error}");
    let (ours, theirs) = UnixStream::pair().map_err(lost)?;
    let number = QUESTION.to_ne_bytes();
    mehari_wire::send_with_files(channel, &[IoSlice::new(&number)], &[theirs.as_fd()])
        .map_err(lost)?;
    drop(theirs);
    control::ask_on(ours, line)
}

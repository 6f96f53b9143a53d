//! `mehari certificate-process`: requests managed certificates. Only the server starts this
//! command. Its standard input is a socket.
//!
//! The command itself only watches over `mehari certificate-process work`, which does the work: its
//! standard input has the settings, and its standard output is the socket.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitCode, Stdio};

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let (input, output) = (io::stdin(), io::stdout());
    let is_worker = arguments == ["work"];
    let socket = if is_worker {
        output.as_fd()
    } else {
        input.as_fd()
    };
    let is_socket = rustix::net::sockopt::get_socket_domain(socket).is_ok();
    if !(is_socket && (is_worker || arguments.is_empty())) {
        eprintln!("mehari certificate-process: the server starts this itself; expected a socket");
        return ExitCode::from(2);
    }
    let run = if is_worker {
        owned(socket).and_then(|socket| mehari_acme::serve(input.lock(), socket))
    } else {
        owned(socket).and_then(|socket| mehari_acme::supervise(socket, start))
    };
    match run {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mehari certificate-process: {error}");
            ExitCode::FAILURE
        }
    }
}

fn owned(socket: BorrowedFd<'_>) -> io::Result<UnixStream> {
    socket.try_clone_to_owned().map(UnixStream::from)
}

/// Starts the process that does the work. The program's file may have been replaced by a newer one.
fn start(settings: File, socket: UnixStream) -> io::Result<Child> {
    Command::new("/proc/self/exe")
        .args(["certificate-process", "work"])
        .stdin(Stdio::from(settings))
        .stdout(Stdio::from(OwnedFd::from(socket)))
        .spawn()
}

//! `mehari certificate-process`: requests managed certificates. Only the server starts this
//! command. Its standard input is a socket.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let input = std::io::stdin();
    let is_socket = rustix::net::sockopt::get_socket_domain(&input).is_ok();
    if !arguments.is_empty() || !is_socket {
        eprintln!("mehari certificate-process: the server starts this itself; expected a socket");
        return ExitCode::from(2);
    }
    let socket = input.as_fd().try_clone_to_owned().map(UnixStream::from);
    match socket.and_then(mehari_acme::serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mehari certificate-process: {error}");
            ExitCode::FAILURE
        }
    }
}

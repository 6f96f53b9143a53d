//! `mehari console`: serves the console's pages on a loopback address and prints their address.
//!
//! The command is the web server. The running server is only asked on its control socket.

use super::browser::{self, Opening};
use super::{arguments, control};
use clap::Parser;
use mehari_console::{Console, WatchedServer};
use mehari_loopback::Service;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(
    name = "mehari console",
    about = "Shows the running server in a browser: requests, workers, memory, back ends, machine",
    after_help = "Examples:\n  mehari console\n  mehari console --port 8100\n\n\
                  Only this machine can open the console. The console requires the token that is in the\n\
                  printed address. From another machine, use a tunnel: ssh -L 8100:127.0.0.1:8100 HOST.\n\
                  Ctrl-C ends the console. The server keeps running."
)]
pub struct ConsoleOptions {
    /// The port on 127.0.0.1. 0 means any free port.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Print the address, and open no browser.
    #[arg(long)]
    no_browser: bool,
    /// The server's control socket; needed only when several servers run.
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: ConsoleOptions = match arguments::parse("mehari console", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    match serve(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("mehari console: {reason}");
            ExitCode::from(1)
        }
    }
}

/// Returns the server that a command watches. Fails if no server answers.
pub fn watched(named: Option<PathBuf>) -> Result<WatchedServer, String> {
    let server = WatchedServer::new(Box::new(move |line| control::ask(named.as_deref(), line)));
    server.status()?;
    Ok(server)
}

fn serve(options: ConsoleOptions) -> Result<(), String> {
    let console = Console::new(watched(options.control)?);
    let opening = Opening {
        command: "mehari console",
        port: options.port,
        is_shown: !options.no_browser,
        page: "",
    };
    browser::serve(Service::secret("mehari console", console)?, &opening)
}

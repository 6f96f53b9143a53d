//! `mehari console`: serves the console's pages on a loopback address and prints their address.
//!
//! The command is the web server. The running server is only asked on its control socket.

use super::{arguments, control};
use clap::Parser;
use mehari_console::{Console, WatchedServer};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

#[derive(Parser)]
#[command(
    name = "mehari console",
    about = "Shows the running server in a browser: requests, workers, memory, back ends, machine",
    after_help = "Examples:\n  mehari console\n  mehari console --port 8100\n\n\
                  Only this machine can open the console, and only with the printed address, which has a\n\
                  token. From elsewhere, use a tunnel: ssh -L 8100:127.0.0.1:8100 HOST. Ctrl-C ends the\n\
                  console; the server goes on."
)]
pub struct ConsoleOptions {
    /// The port on 127.0.0.1; by default a free one.
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
    let console = Console::new(watched(options.control)?)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let asked = ("127.0.0.1", options.port);
        let listener = tokio::net::TcpListener::bind(asked).await;
        let listener =
            listener.map_err(|error| format!("port {} of 127.0.0.1: {error}", options.port))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let url = console.url(address);
        sayln!("mehari console: {url}");
        if !options.no_browser {
            open_browser(&url);
        }
        console.serve(listener, ended()).await;
        Ok(())
    })
}

/// Returns when Ctrl-C or TERM ends the command.
async fn ended() {
    use tokio::signal::unix::{signal, SignalKind};
    match signal(SignalKind::terminate()) {
        Ok(mut term) => tokio::select! {
            _ = term.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        },
        Err(_) => {
            let _ = tokio::signal::ctrl_c().await;
        }
    }
}

/// Opens the address in the user's browser, if the user sits at a screen of this machine. A failure
/// is no error, because the address is printed.
fn open_browser(url: &str) {
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    if has_screen && std::io::stdout().is_terminal() {
        let quiet = || Stdio::null();
        let mut command = Command::new("xdg-open");
        let command = command
            .arg(url)
            .stdin(quiet())
            .stdout(quiet())
            .stderr(quiet());
        if let Ok(mut child) = command.spawn() {
            // Waits for the child, so that the child does not stay as a zombie.
            std::thread::spawn(move || child.wait());
        }
    }
}

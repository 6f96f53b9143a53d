//! Serves pages on a loopback address and opens them in the user's browser: for `mehari console`
//! and `mehari docs`.

use mehari_loopback::{Pages, Service};
use std::io::IsTerminal;
use std::process::{Command, Stdio};

/// Where the pages are served, and what is opened.
pub struct Opening<'a> {
    /// The command, which begins the printed line.
    pub command: &'a str,
    /// The port on 127.0.0.1; 0 is a free one.
    pub port: u16,
    /// Whether a browser is opened.
    pub is_shown: bool,
    /// The first page, below the service's address.
    pub page: &'a str,
}

/// Prints the address, opens the browser, and serves until Ctrl-C or TERM.
///
/// # Errors
/// The port is taken, or the runtime does not start.
pub fn serve<P: Pages>(service: Service<P>, opening: &Opening) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let asked = ("127.0.0.1", opening.port);
        let listener = tokio::net::TcpListener::bind(asked).await;
        let listener =
            listener.map_err(|error| format!("port {} of 127.0.0.1: {error}", opening.port))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let url = format!("{}{}", service.url(address), opening.page);
        sayln!("{}: {url}", opening.command);
        if opening.is_shown {
            open_browser(&url);
        }
        service.serve(listener, ended()).await;
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

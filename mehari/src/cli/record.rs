//! `mehari record`: runs a small proxy that writes its traffic into a session file.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use mehari_record::session::har::Archive;
use mehari_record::session::proxy::{serve, Settings};
use mehari_record::session::{Target, Trust};
use tokio::net::TcpListener;
use tokio::signal::unix::{signal, SignalKind};

use super::arguments;

#[derive(Parser)]
#[command(
    name = "mehari record",
    about = "Records a session through a small proxy into a HAR 1.2 file",
    after_help = "Example:\n  mehari record --listen 127.0.0.1:8081 --to http://127.0.0.1:8080 -o shop.har\n\n\
                  Then use the site under http://127.0.0.1:8081/. Ctrl-C ends the recording."
)]
pub struct Options {
    /// The proxy's address for browsers. Port 0 means any free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8081")]
    listen: String,
    /// The server to record.
    #[arg(long, value_name = "URL")]
    to: Target,
    /// Accept any certificate of the server.
    #[arg(long)]
    insecure: bool,
    /// The session file. An older file is replaced.
    #[arg(short, long, value_name = "FILE", default_value = "session.har")]
    output: PathBuf,
    /// The largest body to record, in megabytes. Larger bodies pass the proxy but are not recorded.
    #[arg(long, value_name = "MB", default_value_t = 16)]
    body_limit: usize,
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: Options = match arguments::parse("mehari record", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    match arguments::runtime().and_then(|runtime| runtime.block_on(record(&options))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            eprintln!("mehari record: {cause}");
            ExitCode::from(2)
        }
    }
}

async fn record(options: &Options) -> Result<(), String> {
    let listener = TcpListener::bind(&options.listen)
        .await
        .map_err(|cause| format!("cannot listen on `{}`: {cause}", options.listen))?;
    let address = listener.local_addr().map_err(|cause| cause.to_string())?;
    // The file is written once before the recording, so a long session does not end with an error.
    write(&options.output, &Archive::of(Vec::new()))?;
    let stop = ended_by_signal()?;
    sayln!(
        "mehari: recording http://{address}/ into {}",
        options.output.display()
    );
    let _ = std::io::stdout().flush();
    let settings = Settings {
        target: options.to.clone(),
        trust: Trust::new(options.insecure),
        body_limit: options.body_limit.saturating_mul(1_000_000),
    };
    let entries = serve(listener, settings, stop).await;
    let count = entries.len();
    write(&options.output, &Archive::of(entries))?;
    let plural = if count == 1 { "exchange" } else { "exchanges" };
    eprintln!(
        "mehari record: {count} {plural} in {}",
        options.output.display()
    );
    Ok(())
}

/// Returns a future that waits for the first Ctrl-C or TERM.
fn ended_by_signal() -> Result<impl std::future::Future<Output = ()>, String> {
    let told = |kind| signal(kind).map_err(|cause| format!("cannot await signals: {cause}"));
    let mut interrupt = told(SignalKind::interrupt())?;
    let mut terminate = told(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Writes the archive into a new file and renames the new file to `path`, so the file is always
/// complete.
fn write(path: &Path, archive: &Archive) -> Result<(), String> {
    let refused = |cause: String| format!("cannot write {}: {cause}", path.display());
    let text = serde_json::to_string_pretty(archive).map_err(|cause| refused(cause.to_string()))?;
    let mut name = path.file_name().map(OsString::from).unwrap_or_default();
    name.push(".part");
    let part = path.with_file_name(name);
    std::fs::write(&part, text + "\n")
        .and_then(|()| std::fs::rename(&part, path))
        .map_err(|cause| refused(cause.to_string()))
}

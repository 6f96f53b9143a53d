//! `mehari parity`: sends the same requests to an old and a new server and prints the differences.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use mehari_record::session::har::Archive;
use mehari_record::session::parity::{compare, read_list, Report, Settings};
use mehari_record::session::{Target, Trust};

use super::{arguments, bench};

#[derive(Parser)]
#[command(
    name = "mehari parity",
    about = "Sends an old and a new server the same requests and prints the differences",
    after_help = "\
The file has one request per line, in one of these forms:
  /path
  a URL of either server
  METHOD /path
  METHOD /path @BODYFILE [TYPE]

A # begins a comment. The file may also be a session of `mehari record` (HAR).

Example:
  mehari parity --old http://127.0.0.1:80 --new http://127.0.0.1:8080 urls.txt --mask 'token=(?<v>\\w+)'

Exit status: 0 all responses are equal, 1 a response differs, 2 wrong usage."
)]
pub struct Options {
    /// The current server
    #[arg(long, value_name = "URL")]
    old: Target,
    /// The server that will replace it
    #[arg(long, value_name = "URL")]
    new: Target,
    /// Ask both servers for this virtual host
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// The requests: a list, or a recorded session
    file: PathBuf,
    /// Text that matches this expression may differ. If the expression has a group `v`, only the
    /// text of the group may differ. May be repeated.
    #[arg(long = "mask", value_name = "REGEX")]
    masks: Vec<String>,
    /// Do not compare this header field; may be repeated
    #[arg(long = "ignore-header", value_name = "NAME")]
    ignored_headers: Vec<String>,
    /// The values of ETag and Last-Modified may differ
    #[arg(long)]
    ignore_validators: bool,
    /// The pages that the servers make themselves (errors, redirects, folders) may differ
    #[arg(long)]
    ignore_server_pages: bool,
    /// How long to wait for an answer
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = bench::parse::time)]
    timeout: Duration,
    /// Accept any certificate of the servers
    #[arg(long)]
    insecure: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: Options = match arguments::parse("mehari parity", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    let json = options.json;
    match parity(options) {
        Ok(report) => {
            if json {
                sayln!("{:#}", serde_json::json!(report))
            } else {
                say!("{report}")
            }
            ExitCode::from(u8::from(!report.is_good()))
        }
        Err(cause) => {
            eprintln!("mehari parity: {cause}");
            ExitCode::from(2)
        }
    }
}

fn parity(options: Options) -> Result<Report, String> {
    if options.timeout.is_zero() {
        return Err("--timeout must be more than 0".into());
    }
    let archive = requests(&options)?;
    let named = |target: Target| match &options.host {
        Some(name) => target.named(name).map_err(|why| format!("--host: {why}")),
        None => Ok(target),
    };
    let settings = Settings {
        old: named(options.old)?,
        new: named(options.new)?,
        trust: Trust::new(options.insecure),
        timeout: options.timeout,
        masks: options.masks,
        ignored_headers: options.ignored_headers,
        ignore_validators: options.ignore_validators,
        ignore_server_pages: options.ignore_server_pages,
    };
    let bar = progress();
    let told = |done: usize, of: usize| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    };
    let report = arguments::runtime()?.block_on(compare(&archive, &settings, told));
    bar.finish_and_clear();
    report
}

/// Reads the file of requests. An archive begins with a brace, a list of requests never does.
fn requests(options: &Options) -> Result<Archive, String> {
    let path = options.file.display().to_string();
    let text = std::fs::read_to_string(&options.file)
        .map_err(|cause| format!("cannot read {path}: {cause}"))?;
    let begins = text.trim_start_matches('\u{feff}').trim_start();
    if begins.starts_with('{') {
        Archive::from_json(&text, &path).map_err(|cause| cause.to_string())
    } else {
        read_list(&text, &options.file, [&options.old, &options.new])
    }
}

fn progress() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{elapsed_precise} {bar:24} {pos} of {len}") {
        bar.set_style(style);
    }
    bar
}

//! `mehari replay`: plays a recorded session, once or for many users, and checks the answers.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use mehari_record::session::har::Archive;
use mehari_record::session::replay::{play, Checks, Report, Settings};
use mehari_record::session::{Target, Trust};

use super::arguments;
use super::records::Outputs;

#[derive(Parser)]
#[command(
    name = "mehari replay",
    about = "Plays a recorded session, once or for many users, and checks the answers",
    after_help = "Example:\n  mehari replay shop.har --to http://127.0.0.1:8080 --users 50 --ramp 10 --check status,body\n\n\
                  Exit status: 0 all answers as recorded, 1 an answer differed or failed, 2 wrong usage."
)]
pub struct Options {
    /// A HAR 1.2 file from `mehari record` or a browser.
    file: PathBuf,
    /// Play against this server instead of the recorded one.
    #[arg(long, value_name = "URL")]
    to: Option<Target>,
    /// Accept any certificate of the server.
    #[arg(long)]
    insecure: bool,
    /// The number of concurrent users, each with its own cookies.
    #[arg(long, value_name = "N", default_value_t = 1)]
    users: usize,
    /// The users start within this number of seconds.
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    ramp: Duration,
    /// Divide the pauses by this number. `max` leaves out the pauses.
    #[arg(long, value_name = "X", default_value = "1", value_parser = speed)]
    speed: f64,
    /// What must equal the recording: `status`, `body`, `status,body` or `none`.
    #[arg(long, value_name = "WHAT", default_value = "status")]
    check: Checks,
    /// Seconds to wait for an answer.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    timeout: Duration,
    /// Save the replay as a record in the format of the extension: json, csv, gnuplot, hlog or
    /// html; may be repeated.
    #[arg(short, long, value_name = "FILE")]
    output: Vec<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: Options = match arguments::parse("mehari replay", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    let json = options.json;
    let played = Outputs::check(&options.output)
        .and_then(|outputs| replay(options).map(|report| (report, outputs)));
    match played {
        Ok((report, outputs)) => {
            print(&report, json);
            let saved = outputs.write(&report.record);
            if let Err(cause) = &saved {
                eprintln!("mehari replay: {cause}");
            }
            ExitCode::from(u8::from(!report.is_good() || saved.is_err()))
        }
        Err(cause) => {
            eprintln!("mehari replay: {cause}");
            ExitCode::from(2)
        }
    }
}

fn replay(options: Options) -> Result<Report, String> {
    if options.users == 0 || options.timeout.is_zero() {
        return Err("--users and --timeout must be more than 0".into());
    }
    let path = options.file.display().to_string();
    let text = std::fs::read_to_string(&options.file)
        .map_err(|cause| format!("cannot read {path}: {cause}"))?;
    let archive = Archive::from_json(&text, &path).map_err(|cause| cause.to_string())?;
    let settings = Settings {
        to: options.to,
        trust: Trust::new(options.insecure),
        users: options.users,
        ramp: options.ramp,
        speed: options.speed,
        checks: options.check,
        timeout: options.timeout,
    };
    let stop = async {
        // If the signal cannot be handled, Ctrl-C ends the process as usual.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    arguments::runtime()?
        .block_on(play(&archive, settings, stop))
        .map_err(|cause| format!("{path}: {cause}"))
}

fn print(report: &Report, json: bool) {
    if json {
        sayln!("{:#}", serde_json::json!(report))
    } else {
        say!("{report}")
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected seconds".to_owned())?;
    if (0.0..=1e6).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("expected seconds from 0 to 1000000".into())
    }
}

/// Parses `--speed`. The word `max` means an infinite speed, which removes all pauses.
fn speed(text: &str) -> Result<f64, String> {
    match text {
        "max" => Ok(f64::INFINITY),
        text => text
            .parse()
            .ok()
            .filter(|speed| (0.001..=1e6).contains(speed))
            .ok_or_else(|| "expected a number from 0.001 to 1000000, or `max`".into()),
    }
}

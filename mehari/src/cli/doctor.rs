//! `mehari doctor`: examines the running server, or a configuration, and says what to change.
//!
//! [`Examination`] gathers the facts once: the configuration, the server's own counts over a time,
//! samples of its Perl, and responses to the given URLs. Each check then reads the facts, measures
//! what it needs besides, and gives a [`Finding`]. Nothing is advised that was not measured here.

mod advice;
mod checks;
mod configuration;
mod examination;
mod gain;
mod measuring;
mod report;
mod trial;
mod visits;
mod watching;

use super::arguments;
use super::bench::parse::time;
use clap::Parser;
use examination::Examination;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Parser)]
#[command(
    name = "mehari doctor",
    about = "Examines the running server or a configuration: what costs time, memory or bytes, and the line to change",
    override_usage = "mehari doctor [URL]... [-d TIME] [--rounds COUNT] [--control PATH] [--json]\n       mehari doctor -f CONF [-D NAME[=VALUE]]... [--rounds COUNT] [--json]",
    after_help = "Examples:\n  mehari doctor\n  mehari doctor -d 1m --json\n  mehari doctor http://127.0.0.1:8080/shop?item=7\n  mehari doctor -f httpd.conf\n\n\
                  Each advice names the measured cost, the line to change, and a command that shows the gain. All\n\
                  advice rests on measurements of this machine. Without a URL, the command sends no request: it\n\
                  watches the requests of other clients for the time -d. With URLs, the command requests them (GET),\n\
                  and they share this time. The URL of a script is also run on other rungs (ways to run a script), in\n\
                  trial servers. To measure modules, the command loads them in processes of their own.\n\n\
                  Exit status: 0 examined, with or without advice; 1 nothing could be examined; 2 wrong usage."
)]
pub struct DoctorOptions {
    /// Pages of the running server to request and to examine.
    #[arg(value_name = "URL", value_parser = url, conflicts_with = "conf")]
    urls: Vec<String>,
    /// Examine this configuration. No server needs to run.
    #[arg(short = 'f', value_name = "CONF", conflicts_with_all = ["control", "duration"])]
    conf: Option<PathBuf>,
    /// Define a name for <IfDefine> and ${NAME}.
    #[arg(short = 'D', value_name = "NAME[=VALUE]", requires = "conf")]
    define: Vec<String>,
    /// How long the server is watched.
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = time)]
    duration: Duration,
    /// How many times each figure is measured.
    #[arg(long, value_name = "COUNT", default_value = "6",
          value_parser = clap::value_parser!(u32).range(6..=100))]
    rounds: u32,
    /// The server's control socket; needed only when several servers run.
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,
}

fn url(text: &str) -> Result<String, String> {
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    let is_plain = !text.contains(|mark: char| mark.is_control() || mark.is_whitespace());
    match rest {
        Some(rest) if is_plain && !rest.is_empty() && !rest.starts_with('/') => Ok(text.to_owned()),
        _ => Err("expected http://HOST[:PORT]/PATH".to_owned()),
    }
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: DoctorOptions = match arguments::parse("mehari doctor", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    let examination = match Examination::of(&options) {
        Ok(examination) => examination,
        Err(reason) => {
            eprintln!("mehari doctor: {}", reason.trim_end());
            return ExitCode::from(1);
        }
    };
    let findings = checks::all(&examination);
    if options.json {
        say!("{:#}\n", report::json(&examination, &findings));
    } else {
        say!("{}", report::text(&examination, &findings));
    }
    ExitCode::SUCCESS
}

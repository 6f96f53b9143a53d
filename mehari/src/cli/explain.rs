//! `mehari explain`: the rung of a script, the reason, and the cost. The running server answers.
//! Where none runs, or `-f` names a configuration, this command loads the site's Perl itself.

pub mod checks;
mod report;
mod text;

use super::{arguments, control};
use crate::cli::serve::checks::Findings;
use clap::Parser;
use mehari_config::{LogLevel, LogTarget, Site};
use mehari_observe::ErrorLog;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tokio::task::LocalSet;

pub use report::Report;

#[derive(Parser)]
#[command(
    name = "mehari explain",
    about = "Says on which rung a script runs, why, and what the rung `fork` costs",
    after_help = "Examples:\n  mehari explain /srv/cgi-bin/guestbook.pl\n  mehari explain /cgi-bin/guestbook.pl\n  \
                  mehari explain -f httpd.conf cgi-bin/guestbook.pl\n\n\
                  A rung is the way in which a script runs, such as `cgi`, `fork` or `registry`.\n\
                  The script is compiled as by `perl -c`: BEGIN blocks and `use` run. The script itself does\n\
                  not run."
)]
pub struct ExplainOptions {
    /// A script's file, or a URL path.
    #[arg(value_name = "SCRIPT")]
    script: PathBuf,
    /// Read this configuration instead of asking the running server.
    #[arg(short = 'f', value_name = "CONF", conflicts_with = "control")]
    conf: Option<PathBuf>,
    /// Define a name for <IfDefine> and ${NAME}.
    #[arg(short = 'D', value_name = "NAME[=VALUE]", requires = "conf")]
    define: Vec<String>,
    #[command(flatten)]
    control: control::Options,
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: ExplainOptions = match arguments::parse("mehari explain", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    let real = options.script.canonicalize();
    let what = real.ok().filter(|path| path.is_file());
    let what = what.unwrap_or_else(|| options.script.clone());
    if options.conf.is_none() && control::has_server(&options.control) {
        let line = format!("explain {}", what.display());
        return control::run(&line, &options.control, text::of);
    }
    match explain_unserved(&options, &what) {
        Ok(report) => {
            let mut answer = serde_json::json!(report);
            answer["ok"] = true.into();
            control::print("explain", &answer, &options.control, text::of)
        }
        Err(reason) => {
            eprintln!("mehari explain: {}", reason.trim_end());
            ExitCode::from(1)
        }
    }
}

fn explain_unserved(options: &ExplainOptions, what: &Path) -> Result<Report, String> {
    let site = match &options.conf {
        Some(conf) => {
            let mut perl = mehari_pool::Configurator::default();
            let loaded = Site::load_with(conf, &options.define, &mut perl);
            loaded.map_err(|problems| problems.to_string())?
        }
        None => Site::zero(what, None).map_err(|error| error.to_string())?,
    };
    let mut report = Report::of_places(&site, what)?;
    if let Some((perl, file)) = report.question(&site) {
        report.learn(ask(&site, perl, &file));
    }
    Ok(report)
}

/// The process becomes the site's user first, so no Perl runs as root.
fn ask(site: &Site, perl: usize, file: &Path) -> Result<mehari_pool::Explanation, String> {
    let mut findings = Findings::default();
    if let Some(identity) = findings.look_at_machine(site) {
        identity.assume()?;
    }
    let log = ErrorLog::open(&LogTarget::Stderr, LogLevel::Warn).map_err(|it| it.to_string())?;
    let runtime = mehari_pool::runtime().map_err(|error| error.to_string())?;
    let asked = mehari_pool::explain_unserved(site, perl, file, log.clone());
    let answer = LocalSet::new().block_on(&runtime, asked);
    log.flush(Duration::from_secs(2));
    answer.map_err(|error| error.to_string())
}

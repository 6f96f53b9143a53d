//! `mehari check`: reads a configuration or examines a path, and prints what the server would do.
//!
//! The description goes to stdout and problems to stderr. With `--json` both go to stdout as one
//! object.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::cli::arguments;
use crate::cli::serve::checks::Findings;
use clap::Parser;
use meaning::Description;
use mehari_config::{Interpreter, Note, NoteKind, Problems, Site, Unasked};
use mehari_front::{htaccess_problems, survey, Survey};

mod meaning;
mod output;
mod served;
mod settings;
mod summary;

#[derive(Parser)]
#[command(
    name = "mehari check",
    about = "Reads a configuration, loads the Perl code that it names, and prints what it means",
    override_usage = "mehari check -f CONF [-D NAME[=VALUE]]... [--all] [--text-only] [--json]\n       mehari check PATH [--all] [--text-only] [--json]",
    after_help = "Examples:\n  mehari check -f httpd.conf -D STAGING\n  mehari check demo/\n\n\
                  Exit status: 0 the configuration can be served, 1 it has problems, 2 wrong usage."
)]
pub struct Options {
    /// The configuration to read.
    #[arg(
        short = 'f',
        value_name = "CONF",
        conflicts_with = "path",
        required_unless_present = "path"
    )]
    conf: Option<PathBuf>,
    /// Define a name for <IfDefine> and ${NAME}.
    #[arg(short = 'D', value_name = "NAME[=VALUE]", conflicts_with = "path")]
    define: Vec<String>,
    /// The folder, script or application of `mehari serve PATH`.
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
    /// Also print the settings of each section, and each line that has no effect.
    #[arg(long)]
    all: bool,
    /// Only read the configuration: load nothing, run no Perl, and look at nothing else on this
    /// machine.
    #[arg(long)]
    text_only: bool,
    /// Print the site and its problems as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: Options = match arguments::parse("mehari check", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    let checked = match (&options.conf, &options.path) {
        (Some(conf), _) => {
            let mut perl = mehari_pool::Configurator::default();
            let perl: &mut dyn Interpreter = if options.text_only {
                &mut Unasked
            } else {
                &mut perl
            };
            load(conf, &options, perl)
        }
        (None, Some(path)) => Site::zero(path, None).map_err(Refused::Path),
        (None, None) => return ExitCode::from(2),
    };
    let surveyed = match &checked {
        Ok(site) if !options.text_only => Some(survey(site, &served::reachable(site))),
        _ => None,
    };
    let checked = match (checked, &surveyed) {
        (Ok(site), Some(survey)) => check_machine(site, survey),
        (checked, _) => checked,
    };
    let survey = surveyed.as_ref();
    let text = match (&checked, options.json) {
        (Ok(site), true) => format!("{:#}\n", meaning::json(site, survey)),
        (Ok(site), false) => {
            let what = options.conf.or(options.path).unwrap_or_default();
            let all = options.all;
            meaning::text(
                site,
                &Description {
                    what: &what,
                    all,
                    survey,
                },
            )
        }
        (Err(refused), true) => format!("{:#}\n", refused.json()),
        (Err(refused), false) => {
            eprintln!("{}", refused.text());
            String::new()
        }
    };
    for doubt in checked.iter().flat_map(Site::doubts) {
        eprintln!("mehari check: {doubt}");
    }
    say!("{text}");
    match checked {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(1),
    }
}

/// Reads the configuration. If it has problems, those of the .htaccess files are added, so that one
/// check reports all of them.
fn load(conf: &Path, options: &Options, perl: &mut dyn Interpreter) -> Result<Site, Refused> {
    let (site, mut problems) = Site::read_with(conf, &options.define, perl);
    if problems.is_empty() {
        return Ok(site);
    }
    let is_read = !site.source.files.is_empty();
    if is_read && !options.text_only {
        problems.extend(htaccess_problems(&site, &served::reachable(&site)));
    }
    let notes = site.source.notes;
    Err(Refused::Problems(Problems { problems, notes }))
}

/// Checks what depends on this machine: .htaccess files, certificates, the user, and whether Perl
/// can load everything.
fn check_machine(site: Site, survey: &Survey) -> Result<Site, Refused> {
    let mut findings = Findings::default();
    findings.extend(&survey.problems);
    let identity = findings.look_at_machine(&site);
    findings.look_at_perl(&site, identity.as_ref());
    match findings.problems() {
        problems if problems.is_empty() => Ok(site),
        problems => Err(Refused::Problems(Problems {
            problems,
            notes: site.source.notes,
        })),
    }
}

/// Returns a summary such as `41 honoured, 3 ignored by design`. Directives with remarks count as
/// honoured.
fn tally(notes: &[Note]) -> String {
    let ignored = notes.iter().filter(|note| note.kind == NoteKind::Ignored);
    let ignored = ignored.count();
    format!(
        "{} honoured, {ignored} ignored by design",
        notes.len() - ignored
    )
}

enum Refused {
    Problems(Problems),
    Path(mehari_config::Error),
}

impl Refused {
    fn text(&self) -> String {
        match self {
            Refused::Problems(all) => {
                let count = all.problems.len();
                let plural = if count == 1 { "problem" } else { "problems" };
                format!(
                    "{all}\nmehari check: {count} {plural}; {}",
                    tally(&all.notes)
                )
            }
            Refused::Path(error) => format!("mehari check: {}", chain(error)),
        }
    }

    fn json(&self) -> serde_json::Value {
        match self {
            Refused::Problems(all) => serde_json::json!(all),
            Refused::Path(error) => {
                serde_json::json!({ "problems": [{ "message": chain(error) }], "notes": [] })
            }
        }
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

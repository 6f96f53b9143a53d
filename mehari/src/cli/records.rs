//! `mehari bench merge` merges the records of several generators. `mehari bench export` writes a
//! record in other formats. The module `bench` calls both.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use mehari_record::export::{self, Format};
use mehari_record::{merge, Error, Record};

use super::arguments;

const FORMS: &str = "json, csv, gnuplot (or dat), hlog, html";

#[derive(Parser)]
#[command(
    name = "mehari bench merge",
    about = "Joins the records that several generators made of one run",
    after_help = "Example:\n  mehari bench merge east.json west.json -o both.json -o both.html\n\n\
                  Histograms and counts are added without loss. Timelines are aligned by the wall clock."
)]
pub struct Merge {
    /// Records of the generators
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<PathBuf>,
    /// Write this file, in the format of its ending; may be repeated [default: JSON to stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Vec<PathBuf>,
}

#[derive(Parser)]
#[command(
    name = "mehari bench export",
    about = "Writes a record in other formats",
    after_help = "Example:\n  mehari bench export run.json -o run.html -o run.csv -o run.hlog\n\n\
                  The ending of FILE chooses the format:\n  csv      the timeline\n  gnuplot  the timeline and the percentiles\n  \
                  hlog     the HdrHistogram log\n  html     a page with plots\n  json     the record itself"
)]
pub struct Export {
    /// A saved record
    record: PathBuf,
    /// Write this file, in the format of its ending; may be repeated
    #[arg(short, long, required = true, value_name = "FILE")]
    output: Vec<PathBuf>,
}

/// Runs `mehari bench merge`. `arguments` holds the words after these.
pub fn run_merge(arguments: Vec<OsString>) -> ExitCode {
    let command = "mehari bench merge";
    let options: Merge = match arguments::parse(command, arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    let records = options.records.iter().map(|path| Record::read(path));
    let merged = records
        .collect::<Result<Vec<Record>, Error>>()
        .and_then(|records| merge(&records));
    match merged {
        Err(cause) => refuse(command, &cause.to_string()),
        Ok(record) if options.output.is_empty() => {
            say!("{}", record.to_json());
            ExitCode::SUCCESS
        }
        Ok(record) => write_all(command, &record, &options.output),
    }
}

/// Runs `mehari bench export`. `arguments` holds the words after these.
pub fn run_export(arguments: Vec<OsString>) -> ExitCode {
    let command = "mehari bench export";
    let options: Export = match arguments::parse(command, arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    match Record::read(&options.record) {
        Err(cause) => refuse(command, &cause.to_string()),
        Ok(record) => write_all(command, &record, &options.output),
    }
}

fn write_all(command: &str, record: &Record, paths: &[PathBuf]) -> ExitCode {
    let outputs = match Outputs::check(paths) {
        Ok(outputs) => outputs,
        Err(why) => return refuse(command, &why),
    };
    match outputs.write(record) {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            eprintln!("{command}: {cause}");
            ExitCode::FAILURE
        }
    }
}

/// The files into which a record will be written, and their formats.
pub struct Outputs(Vec<(PathBuf, Format)>);

impl Outputs {
    /// Checks the paths before the run. An error is one line that names the unusable path.
    pub fn check(paths: &[PathBuf]) -> Result<Outputs, String> {
        let forms = paths.iter().map(|path| {
            check_place(path)?;
            let name = path.display();
            let form = Format::of_path(path).ok_or_else(|| {
                format!("the form of `{name}` is not known by its extension; expected {FORMS}")
            })?;
            Ok((path.clone(), form))
        });
        forms.collect::<Result<_, _>>().map(Outputs)
    }

    pub fn write(&self, record: &Record) -> Result<(), Error> {
        self.0
            .iter()
            .try_for_each(|(path, form)| export::write(record, *form, path))
    }
}

/// Checks that a file can be written at this path.
pub fn check_place(path: &Path) -> Result<(), String> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) || path.is_dir() {
        return Err(format!(
            "cannot write {}: expected a file in an existing folder",
            path.display()
        ));
    }
    Ok(())
}

fn refuse(command: &str, why: &str) -> ExitCode {
    eprintln!("{command}: {why}");
    ExitCode::from(2)
}

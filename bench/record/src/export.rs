//! Exports a record to the formats of other programs. `mehari bench` and `mehari compare` call it.

mod csv;
mod gnuplot;
mod hdr_log;
mod html;
mod plot;

use std::path::Path;

pub use self::html::ComparisonPage;
use crate::{Error, Record};

/// The export formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The record itself.
    Json,
    /// The timeline as a table with one row per bucket.
    Csv,
    /// The timeline and the percentiles as two data sets in one file. Comments in the file hold the
    /// plot commands.
    Gnuplot,
    /// The HdrHistogram log, for HistogramLogAnalyzer and HdrHistogram's plotters.
    HdrLog,
    /// An HTML page with plots, complete in one file.
    Html,
}

impl Format {
    pub const NAMES: &'static [(&'static str, Format)] = &[
        ("json", Format::Json),
        ("csv", Format::Csv),
        ("gnuplot", Format::Gnuplot),
        ("hlog", Format::HdrLog),
        ("html", Format::Html),
    ];

    pub fn named(name: &str) -> Option<Format> {
        Format::NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, format)| *format)
    }

    /// Returns the format that a file extension means. `dat` and `gp` also mean gnuplot, and `htm`
    /// also means a page.
    pub fn of_path(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()? {
            "dat" | "gp" => Some(Format::Gnuplot),
            "htm" => Some(Format::Html),
            name => Format::named(name),
        }
    }
}

/// Returns the record in this format.
pub fn export(record: &Record, format: Format) -> Vec<u8> {
    match format {
        Format::Json => record.to_json().into_bytes(),
        Format::Csv => csv::timeline(record).into_bytes(),
        Format::Gnuplot => gnuplot::data(record).into_bytes(),
        Format::HdrLog => hdr_log::log(record),
        Format::Html => html::page(record).into_bytes(),
    }
}

/// Writes the record to `path` in this format.
///
/// # Errors
/// [`Error::File`] if the file cannot be written.
pub fn write(record: &Record, format: Format, path: &Path) -> Result<(), Error> {
    std::fs::write(path, export(record, format)).map_err(|cause| Error::File {
        doing: "write",
        path: path.display().to_string(),
        cause,
    })
}

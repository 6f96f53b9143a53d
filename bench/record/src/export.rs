//! A record in the forms that other programs and people read.

mod csv;
mod gnuplot;
mod hdr_log;
mod html;
mod plot;

use std::path::Path;

use crate::{Error, Record};

/// What a record can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The record itself.
    Json,
    /// The timeline, a row a bucket.
    Csv,
    /// Timeline and percentiles as two data sets of one file, with the plot commands in comments.
    Gnuplot,
    /// The HdrHistogram log that HistogramLogAnalyzer, HdrHistogram's plotters and others read.
    HdrLog,
    /// One page with plots and no other file.
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

    /// By the file's extension; gnuplot's are `gnuplot`, `dat` and `gp`, a page's `html` or `htm`.
    pub fn of_path(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()? {
            "dat" | "gp" => Some(Format::Gnuplot),
            "htm" => Some(Format::Html),
            name => Format::named(name),
        }
    }
}

/// The record as `format`.
pub fn export(record: &Record, format: Format) -> Vec<u8> {
    match format {
        Format::Json => record.to_json().into_bytes(),
        Format::Csv => csv::timeline(record).into_bytes(),
        Format::Gnuplot => gnuplot::data(record).into_bytes(),
        Format::HdrLog => hdr_log::log(record),
        Format::Html => html::page(record).into_bytes(),
    }
}

/// Writes the record to `path` as `format`.
pub fn write(record: &Record, format: Format, path: &Path) -> Result<(), Error> {
    std::fs::write(path, export(record, format)).map_err(|cause| Error::File {
        doing: "write",
        path: path.display().to_string(),
        cause,
    })
}

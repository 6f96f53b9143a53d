//! Measures the lookups of .htaccess files.
//!
//! The server keeps what it has read and watches the files, so a folder is looked at once a second
//! at most. Only on a slow file system does that cost anything.

use crate::cli::doctor::advice::{figure, Advice, ProposedChange, Verdict};
use crate::cli::doctor::examination::Examination;
use crate::cli::doctor::gain;
use crate::cli::doctor::measuring::MeasuredMean;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The least time of all lookups of a second that is worth a change, in milliseconds.
const LEAST_MS: f64 = 1.0;
const MOST_FOLDERS: usize = 2_000;

pub fn check(examination: &Examination) -> Verdict {
    let configuration = &examination.configuration;
    let site = &configuration.site;
    let folders: Vec<PathBuf> = site
        .all_hosts()
        .filter(|host| host.allows_htaccess())
        .flat_map(|host| folders(&host.mapping.document_root))
        .collect();
    if folders.is_empty() {
        return Verdict::Fine(
            "no AllowOverride: the server looks for no .htaccess file".to_owned(),
        );
    }
    let name = site
        .access_files
        .first()
        .map_or(".htaccess", String::as_str);
    look(&folders, name); // reads the folders from the disk
    let times: Vec<f64> = (0..examination.rounds)
        .map(|_| look(&folders, name))
        .collect();
    let took = MeasuredMean::of(&times);
    let told = format!(
        "{} folders are looked at, each once a second at most: {:.3} ± {:.3} ms for all",
        folders.len(),
        took.mean,
        took.interval
    );
    let lines = configuration.all("AllowOverride");
    let line = lines
        .into_iter()
        .find(|line| !line.text.to_ascii_lowercase().ends_with(" none"));
    match line {
        Some(line) if took.mean - took.interval >= LEAST_MS => {
            let new = "AllowOverride None";
            Verdict::Advice(vec![Advice {
                what: format!(
                    "`{}` has the server look for {name} on a slow file system",
                    line.text
                ),
                measured: told,
                figures: vec![figure("lookups", took.mean, "ms a second")],
                change: ProposedChange::replace(&line.file, line.number, &line.text, new),
                gain: gain::of_records(examination, &examination.example()),
            }])
        }
        _ => Verdict::Fine(told),
    }
}

/// Returns the folders below a document root.
fn folders(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.to_owned()];
    let mut at = 0;
    while at < found.len() && found.len() < MOST_FOLDERS {
        let entries = std::fs::read_dir(&found[at])
            .into_iter()
            .flatten()
            .flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        found.extend(below.map(|entry| entry.path()));
        at += 1;
    }
    found.truncate(MOST_FOLDERS);
    found
}

/// Does what the server does for each folder once a second. Returns milliseconds.
fn look(folders: &[PathBuf], name: &str) -> f64 {
    let begun = Instant::now();
    for folder in folders {
        let _ = std::fs::metadata(folder);
        let _ = std::fs::metadata(folder.join(name));
    }
    begun.elapsed().as_secs_f64() * 1e3
}

//! Compares the site's perl with others of this machine that are built otherwise.

use super::advice_or;
use crate::cli::doctor::advice::{figure, Advice, Verdict};
use crate::cli::doctor::examination::Examination;
use crate::cli::doctor::gain;
use crate::cli::doctor::measuring::{compare_work, PerlRun};
use mehari_record::statistics::Comparison;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The least gain that is worth another perl.
const LEAST_GAIN: f64 = 0.03;
/// Folders below which perls are installed beside the system's: a folder for each.
const BESIDE: &[&str] = &["perl5/perlbrew/perls", ".plenv/versions"];

/// A perl's version and build.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PerlBuild {
    perl: PathBuf,
    version: String,
    has_threads: bool,
    is_debugging: bool,
}

impl PerlBuild {
    /// `None`: the file is no perl that runs.
    fn of(perl: &Path) -> Option<PerlBuild> {
        const PROGRAM: &str = "use Config; printf qq(%vd\\t%s\\t%s\\n), $^V, \
             $Config{usethreads} ? 1 : 0, $Config{ccflags} =~ /-DDEBUGGING\\b/ ? 1 : 0";
        let output = Command::new(perl).args(["-e", PROGRAM]).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let parts: Vec<&str> = text.trim().split('\t').collect();
        let [version, threads, debugging] = parts[..] else {
            return None;
        };
        Some(PerlBuild {
            perl: perl.to_owned(),
            version: version.to_owned(),
            has_threads: threads == "1",
            is_debugging: debugging == "1",
        })
    }

    fn told(&self) -> String {
        let threads = if self.has_threads { "with" } else { "without" };
        let debugging = if self.is_debugging {
            ", for debugging"
        } else {
            ""
        };
        format!(
            "{} {} ({threads} threads{debugging})",
            self.perl.display(),
            self.version
        )
    }
}

pub fn check(examination: &Examination) -> Verdict {
    let own = examination.configuration.perl();
    let Some(own) = PerlBuild::of(own) else {
        return Verdict::Unmeasured(format!("{} does not run", own.display()));
    };
    let others = others(&own);
    if others.is_empty() {
        return Verdict::Unmeasured(format!(
            "{}: no perl that is built otherwise is installed beside it",
            own.told()
        ));
    }
    let mut told = Vec::new();
    let mut advice = Vec::new();
    for other in &others {
        let run = |build: &PerlBuild| PerlRun {
            perl: build.perl.clone(),
            switches: Vec::new(),
            options: String::new(),
        };
        match compare_work(&run(&own), &run(other), examination.rounds) {
            Some(ratio) if ratio.interval.high < 1.0 - LEAST_GAIN => {
                advice.push((ratio.ratio, advise(examination, &own, other, &ratio)));
            }
            Some(ratio) => told.push(format!(
                "{} takes {:.2} times the processor time of {}",
                other.told(),
                ratio.ratio,
                own.told()
            )),
            None => told.push(format!("{} does not run the work", other.told())),
        }
    }
    advice.sort_by(|one, other| one.0.total_cmp(&other.0));
    let fastest = advice.into_iter().map(|(_, advice)| advice).take(1);
    advice_or(fastest.collect(), told.join("; "))
}

/// Returns the perls of the usual folders that differ from the site's in their build.
fn others(own: &PerlBuild) -> Vec<PerlBuild> {
    let mut files: Vec<PathBuf> = Vec::new();
    let path = std::env::var_os("PATH").unwrap_or_default();
    files.extend(std::env::split_paths(&path).map(|folder| folder.join("perl")));
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .unwrap_or_default();
    let roots = BESIDE.iter().map(|folder| home.join(folder));
    for root in roots.chain([PathBuf::from("/opt")]) {
        let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
        files.extend(entries.map(|entry| entry.path().join("bin/perl")));
    }
    let mut files: Vec<PathBuf> = files
        .into_iter()
        .filter_map(|it| it.canonicalize().ok())
        .collect();
    files.sort();
    files.dedup();
    let builds = files.iter().filter_map(|file| PerlBuild::of(file));
    let differs = |other: &PerlBuild| {
        (other.has_threads, other.is_debugging) != (own.has_threads, own.is_debugging)
    };
    builds.filter(differs).collect()
}

fn advise(
    examination: &Examination,
    own: &PerlBuild,
    other: &PerlBuild,
    ratio: &Comparison,
) -> Advice {
    let line = format!("PerlInterpreter {}", other.perl.display());
    Advice {
        what: format!("{} is slower than {}", own.told(), other.told()),
        measured: format!(
            "the same work takes {:.2} times the processor time in the other (95 %: {:.2} to {:.2}); \
             modules in C have to be installed for it",
            ratio.ratio, ratio.interval.low, ratio.interval.high
        ),
        figures: vec![figure("time", ratio.ratio, "times")],
        change: examination.configuration.set("PerlInterpreter", &line),
        gain: gain::of_lines(examination, &[&line], &examination.example()),
    }
}

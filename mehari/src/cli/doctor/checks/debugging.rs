//! Finds switches and modules for debugging, and measures how much slower they make this perl.

use super::advice_or;
use crate::cli::doctor::advice::{figure, Advice, ProposedChange, Verdict};
use crate::cli::doctor::configuration::ConfigurationLine;
use crate::cli::doctor::examination::Examination;
use crate::cli::doctor::gain;
use crate::cli::doctor::measuring::{compare_work, PerlRun};
use mehari_record::statistics::Comparison;
use std::path::Path;

/// The least slowing that is worth a change.
const LEAST_SLOWING: f64 = 1.02;
/// Modules that watch the code that is compiled after them.
const WATCHERS: &[&str] = &[
    "Devel::",
    "Carp::Always",
    "diagnostics",
    "Apache::DB",
    "Apache2::DB",
    "Apache::DProf",
    "Apache2::DProf",
    "Apache::SmallProf",
    "Apache2::SmallProf",
];

/// A switch for debugging, and the change that removes it.
struct DebuggingSwitch {
    switch: String,
    change: ProposedChange,
}

pub fn check(examination: &Examination) -> Verdict {
    let configuration = &examination.configuration;
    let mut found = Vec::new();
    for directive in ["PerlSwitches", "PerlModule"] {
        for line in configuration.all(directive) {
            found.extend(debugging(line, directive == "PerlModule"));
        }
    }
    if let Some(server) = &examination.server {
        found.extend(in_environment(server.pid));
    }
    if found.is_empty() {
        return Verdict::Fine(
            "no module for debugging in PerlSwitches, PerlModule and PERL5OPT".into(),
        );
    }
    let mut advice = Vec::new();
    let mut told = Vec::new();
    for line in &found {
        match slowing(examination, &line.switch) {
            None => told.push(format!("`{}` cannot be tried alone", line.switch)),
            Some(ratio) if ratio.interval.low < LEAST_SLOWING => told.push(format!(
                "`{}` takes {:.2} times the processor time of a run without",
                line.switch, ratio.ratio
            )),
            Some(ratio) => advice.push(advise(examination, line, &ratio)),
        }
    }
    match (
        advice.is_empty(),
        told.iter().any(|it| it.contains("cannot")),
    ) {
        (true, true) => Verdict::Unmeasured(told.join("; ")),
        _ => advice_or(advice, told.join("; ")),
    }
}

/// Returns the switches of a line that are for debugging.
fn debugging(line: &ConfigurationLine, names_modules: bool) -> Vec<DebuggingSwitch> {
    let words: Vec<&str> = line.text.split_whitespace().collect();
    let is_watcher = |module: &str| WATCHERS.iter().any(|known| module.starts_with(known));
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let bare = word.trim_matches(['"', '\'']);
        let switch = match bare.strip_prefix('-') {
            _ if names_modules && is_watcher(bare) => format!("-M{bare}"),
            Some(rest) if rest.strip_prefix(['M', 'm']).is_some_and(is_watcher) => bare.to_owned(),
            _ => continue,
        };
        let mut rest = words.clone();
        rest.remove(at);
        let without = if rest.len() > 1 {
            rest.join(" ")
        } else {
            String::new()
        };
        found.push(DebuggingSwitch {
            switch,
            change: ProposedChange::replace(&line.file, line.number, &line.text, &without),
        });
    }
    found
}

/// Returns the value of PERL5OPT with which the server runs, if it is for debugging.
fn in_environment(pid: u32) -> Option<DebuggingSwitch> {
    let file = format!("/proc/{pid}/environ");
    let environment = std::fs::read(&file).ok()?;
    let mut entries = environment.split(|byte| *byte == 0);
    let value = entries.find_map(|entry| entry.strip_prefix(b"PERL5OPT="))?;
    let value = String::from_utf8_lossy(value).into_owned();
    let words = value.split_whitespace();
    let is_debugging = |word: &str| {
        let rest = word.trim_start_matches('-');
        let is_watcher = |module: &str| WATCHERS.iter().any(|known| module.starts_with(known));
        rest.starts_with('d') || rest.strip_prefix(['M', 'm']).is_some_and(is_watcher)
    };
    let switch = words
        .into_iter()
        .find(|word| is_debugging(word))?
        .to_owned();
    let old = format!("PERL5OPT={value}");
    Some(DebuggingSwitch {
        change: ProposedChange::replace(Path::new(&file), 1, &old, ""),
        switch: format!("-{}", switch.trim_start_matches('-')),
    })
}

/// Compares the same work with and without the switch.
fn slowing(examination: &Examination, switch: &str) -> Option<Comparison> {
    let configuration = &examination.configuration;
    let folders = configuration.perl_folders();
    let folders = folders
        .iter()
        .map(|folder| format!("-I{}", folder.display()));
    let without = PerlRun {
        perl: configuration.perl().to_owned(),
        switches: folders.collect(),
        options: String::new(),
    };
    let mut with = without.clone();
    with.switches.push(switch.to_owned());
    compare_work(&without, &with, examination.rounds)
}

fn advise(examination: &Examination, found: &DebuggingSwitch, ratio: &Comparison) -> Advice {
    Advice {
        what: format!("`{}` is for debugging, and slows all Perl", found.switch),
        measured: format!(
            "the same work takes {:.2} times the processor time (95 %: {:.2} to {:.2}) in this perl",
            ratio.ratio, ratio.interval.low, ratio.interval.high
        ),
        figures: vec![figure("slowing", ratio.ratio, "times")],
        change: found.change.clone(),
        gain: gain::of_records(examination, &examination.example()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::configuration::Configuration;

    #[test]
    fn switches_for_debugging_are_found_and_others_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let conf = folder.path().join("a.conf");
        std::fs::write(
            &conf,
            "PerlSwitches -w -MDevel::Trace -Ilib\nPerlModule POSIX Devel::NYTProf\n",
        )
        .expect("written");
        let read = Configuration::read(Some(conf), vec![], vec![], None).expect("a configuration");
        let switches = debugging(read.all("PerlSwitches")[0], false);
        let told: Vec<(&str, &str)> = switches
            .iter()
            .map(|it| (&*it.switch, &*it.change.new))
            .collect();
        assert_eq!(told, [("-MDevel::Trace", "PerlSwitches -w -Ilib")]);
        let modules = debugging(read.all("PerlModule")[0], true);
        assert_eq!(
            (&*modules[0].switch, &*modules[0].change.new),
            ("-MDevel::NYTProf", "PerlModule POSIX")
        );
    }
}

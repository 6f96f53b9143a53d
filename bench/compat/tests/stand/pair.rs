//! Runs an original tool and Mehari's tool with equal arguments against the same server. Then
//! compares their exit statuses, the shapes of both streams, and the requests that the server
//! received.

use super::line::Places;
use super::programs::{link, mehari, original, run, run_until, Ran};
use super::server::Server;
use super::shape;
use std::path::Path;
use tempfile::TempDir;

/// A tool's name, a server and a folder for its runs, and the values of the placeholders in command
/// lines.
pub struct Pair {
    pub name: &'static str,
    pub server: Server,
    pub folder: TempDir,
    places: Places<'static>,
}

impl Pair {
    pub fn new(name: &'static str, places: impl Fn(&Server, &Path) -> Places<'static>) -> Pair {
        let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
        let places = places(&server, folder.path());
        Pair {
            name,
            server,
            folder,
            places,
        }
    }

    pub fn words(&self, line: &str) -> Vec<String> {
        self.places.words(line)
    }

    /// Runs Mehari's tool under the tool's name.
    pub fn ours(&self, line: &str) -> Ran {
        let program = link(self.folder.path(), self.name);
        run(&program, &self.words(line), self.folder.path())
    }

    /// Runs the original. Returns `None` if the original is not installed; the test then counts as
    /// skipped.
    pub fn theirs(&self, line: &str) -> Option<Ran> {
        let program = original(self.name)?;
        Some(run(&program, &self.words(line), self.folder.path()))
    }

    /// Returns a file that one of the tools wrote.
    pub fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(file)).unwrap()
    }

    /// Compares the tools for all command lines. Fails with a list of all differences.
    pub fn compare(&self, lines: &[&str]) {
        assert!(lines.len() >= 25, "{} sets are too few", lines.len());
        let wrong: Vec<String> = lines.iter().filter_map(|line| self.one(line)).collect();
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }

    fn one(&self, line: &str) -> Option<String> {
        self.server.forget();
        // A command line with which the original crashes is not compared.
        let theirs = self.theirs(line).filter(|theirs| !theirs.crashed)?;
        let seen = self.server.different_requests();
        self.server.forget();
        let ours = self.ours(line);
        let seen_of_ours = self.server.different_requests();
        let mut found = differences(&theirs, &ours);
        if seen != seen_of_ours {
            found.push_str(&format!(
                "  requests differ; theirs:\n{}  ours:\n{}",
                shown(&seen),
                shown(&seen_of_ours)
            ));
        }
        (!found.is_empty()).then(|| format!("{} {line}\n{found}", self.name))
    }

    /// Compares the values that `counts` takes from the reports. These values are not measured, so
    /// every digit must be equal. `with` holds additional words for Mehari's tool.
    pub fn compare_counts(&self, with: &str, lines: &[&str], counts: impl Fn(&str) -> Vec<String>) {
        for line in lines {
            let Some(theirs) = self.theirs(line) else {
                return;
            };
            let theirs = theirs.out_text();
            let ours = self.ours(&format!("{with} {line}")).out_text();
            assert!(counts(&theirs).len() >= 5, "{line}: {theirs}");
            assert_eq!(counts(&theirs), counts(&ours), "{line}");
        }
    }

    /// Checks that Mehari's tool does the same through a link and as a subcommand. Returns the
    /// output.
    pub fn answers_to_its_name(&self, line: &str) -> String {
        let named = self.ours(line);
        let words = [vec![self.name.to_string()], self.words(line)].concat();
        let sub = run(mehari(), &words, self.folder.path());
        assert_eq!((named.status, sub.status), (Some(0), Some(0)));
        let (named, sub) = (named.out_text(), sub.out_text());
        assert_eq!(shape::of(&named), shape::of(&sub));
        named
    }

    /// Interrupts both tools when the server has received more than `requests` requests. Returns
    /// the result of Mehari's tool.
    pub fn compare_interrupted(&self, line: &str, requests: usize) -> Ran {
        let interrupted = |program: &Path| {
            self.server.forget();
            let is_time = || self.server.count() > requests;
            run_until(program, &self.words(line), self.folder.path(), is_time)
        };
        let ours = interrupted(&link(self.folder.path(), self.name));
        if let Some(original) = original(self.name) {
            let found = differences(&interrupted(&original), &ours);
            assert!(found.is_empty(), "{line}\n{found}");
        }
        ours
    }
}

fn differences(theirs: &Ran, ours: &Ran) -> String {
    let mut found = String::new();
    if theirs.status != ours.status {
        let (theirs, ours) = (theirs.status, ours.status);
        found.push_str(&format!("  status: theirs {theirs:?}, ours {ours:?}\n"));
    }
    for (stream, theirs, ours) in [
        ("stdout", theirs.out_text(), ours.out_text()),
        ("stderr", theirs.err_text(), ours.err_text()),
    ] {
        if let Some(text) = shape::difference(&shape::of(&theirs), &shape::of(&ours)) {
            found.push_str(&format!("  {stream}:\n{text}"));
        }
    }
    found
}

fn shown(requests: &[Vec<u8>]) -> String {
    requests
        .iter()
        .map(|request| format!("    {}\n", request.escape_ascii()))
        .collect()
}

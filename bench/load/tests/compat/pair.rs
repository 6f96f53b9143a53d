//! Runs the original and ours with the same words against the same server and compares exit status,
//! the shape of both streams, and the requests the server saw.

use super::line::Places;
use super::programs::{link, original, run, Ran};
use super::server::Server;
use super::shape;
use std::path::Path;

pub struct Comparison<'a> {
    pub name: &'a str,
    pub server: &'a Server,
    pub folder: &'a Path,
    pub places: Places<'a>,
    /// Compare the bytes of the requests too.
    pub requests: bool,
}

impl Comparison<'_> {
    /// Compares all lines and fails with every difference found.
    pub fn all(&self, lines: &[&str]) {
        assert!(lines.len() >= 25, "{} sets are too few", lines.len());
        let Some(theirs) = original(self.name) else {
            return;
        };
        let ours = link(self.folder, self.name);
        let wrong: Vec<String> = lines
            .iter()
            .filter_map(|line| {
                let words = self.places.words(line);
                let (theirs, seen) = self.one(&theirs, &words);
                let (ours, seen_of_ours) = self.one(&ours, &words);
                let mut found = differences(&theirs, &ours);
                if self.requests && seen != seen_of_ours {
                    found.push_str(&format!(
                        "  requests differ; theirs:\n{}  ours:\n{}",
                        shown(&seen),
                        shown(&seen_of_ours)
                    ));
                }
                (!found.is_empty()).then(|| format!("{} {line}\n{found}", self.name))
            })
            .collect();
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }

    fn one(&self, program: &Path, words: &[String]) -> (Ran, Vec<Vec<u8>>) {
        self.server.forget();
        let ran = run(program, words, self.folder);
        (ran, self.server.different_requests())
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

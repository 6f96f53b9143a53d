//! Writes the report of a parity check: a line for each request, then the masked values.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::cause::{self, Cause};
use super::difference::{Difference, Findings};
use super::Settings;

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub old: String,
    pub new: String,
    pub same: usize,
    pub different: usize,
    /// The number of entries that were not requested, because they belong to another origin.
    pub left_out: usize,
    /// The masked values that differed between the sides, by kind.
    pub masked: BTreeMap<String, Tally>,
    pub requests: Vec<Compared>,
    /// The differences of all requests by what differs, the most frequent first.
    pub causes: Vec<Cause>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// Method and path.
    pub request: String,
    pub differences: Vec<Difference>,
    pub masked: BTreeMap<String, usize>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Tally {
    pub count: usize,
    /// The first masked value of the kind on each side.
    pub old: String,
    pub new: String,
}

impl Report {
    pub(super) fn of(settings: &Settings, left_out: usize) -> Report {
        Report {
            old: settings.old.origin(),
            new: settings.new.origin(),
            same: 0,
            different: 0,
            left_out,
            masked: BTreeMap::new(),
            requests: Vec::new(),
            causes: Vec::new(),
        }
    }

    /// Groups the differences when all requests have been compared.
    pub(super) fn finish(&mut self) {
        self.causes = cause::of(&self.requests);
    }

    pub(super) fn add(&mut self, request: String, findings: Findings) {
        if findings.differences.is_empty() {
            self.same += 1
        } else {
            self.different += 1
        }
        let mut masked = BTreeMap::new();
        for hidden in findings.hidden {
            *masked.entry(hidden.what.clone()).or_default() += 1;
            let tally = self.masked.entry(hidden.what).or_insert_with(|| Tally {
                count: 0,
                old: hidden.old,
                new: hidden.new,
            });
            tally.count += 1;
        }
        self.requests.push(Compared {
            request,
            differences: findings.differences,
            masked,
        });
    }

    pub fn is_good(&self) -> bool {
        self.different == 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        writeln!(out, "old {}, new {}", self.old, self.new)?;
        for one in &self.requests {
            write!(out, "{one}")?;
        }
        write!(out, "{} same, {} different", self.same, self.different)?;
        match self.left_out {
            0 => writeln!(out)?,
            some => writeln!(out, ", {some} of other origins not asked for")?,
        }
        if !self.causes.is_empty() {
            writeln!(out, "what differs, and in how many answers:")?;
        }
        for cause in &self.causes {
            let (what, first) = (brief(&cause.what), brief(&cause.first));
            writeln!(out, "{:>6}  {what} (first: {first})", cause.requests)?;
        }
        for (what, tally) in &self.masked {
            let [old, new] = [&tally.old, &tally.new].map(|value| brief(value));
            writeln!(out, "masked {what}: {} (first: {old} / {new})", tally.count)?;
        }
        Ok(())
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let word = if self.differences.is_empty() {
            "same"
        } else {
            "DIFFERENT"
        };
        write!(out, "{word:9} {}", self.request)?;
        let masked = self
            .masked
            .iter()
            .map(|(what, count)| format!("{what} {count}"));
        let masked: Vec<String> = masked.collect();
        if masked.is_empty() {
            writeln!(out)?
        } else {
            writeln!(out, "  (masked: {})", masked.join(", "))?
        }
        for difference in &self.differences {
            write!(out, "{difference}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "    {}", self.part)?;
        if let Some(name) = &self.name {
            write!(out, " {}", brief(name))?;
        }
        let [old, new] = [&self.old, &self.new]
            .map(|side| side.as_deref().map_or_else(|| "(none)".into(), brief));
        writeln!(out, ": old {old}, new {new}")?;
        for line in &self.excerpt {
            writeln!(out, "      {line}")?;
        }
        Ok(())
    }
}

/// Returns a value from a server in a printable form: on one line, without control characters, and
/// shortened.
fn brief(value: &str) -> String {
    let mut shown: String = value.chars().take(100).flat_map(visible).collect();
    if value.chars().nth(100).is_some() {
        shown.push_str("...");
    }
    shown
}

fn visible(character: char) -> Vec<char> {
    if character.is_control() {
        character.escape_default().collect()
    } else {
        vec![character]
    }
}

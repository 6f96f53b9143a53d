//! Regular expressions as in Apache: PCRE's syntax over bytes. `.` matches every byte, and `$`
//! matches the end of the text only.
//!
//! An engine with linear time runs the expressions that mean the same in its own syntax
//! (`syntax.rs`). PCRE2 runs the others. It gives up after as many steps as in Apache: then there
//! is no match.

mod bytes;
mod class;
mod cursor;
mod syntax;

use std::ops::Range;

/// The number of groups: `$0` to `$9`.
const MOST_GROUPS: usize = 10;

/// A regular expression. Comparing and printing use its text.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    engine: Engine,
}

#[derive(Debug, Clone)]
enum Engine {
    Linear(regex::bytes::Regex),
    Pcre(Box<pcre2::bytes::Regex>),
}

/// The positions of a match's groups. Group 0 is the whole match.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Groups([Option<Range<usize>>; MOST_GROUPS]);

impl Groups {
    /// Returns the bytes of a group in the matched text.
    pub fn get<'t>(&self, text: &'t [u8], number: usize) -> Option<&'t [u8]> {
        text.get(self.0.get(number)?.clone()?)
    }

    /// Returns the position of the whole match.
    pub fn whole(&self) -> Range<usize> {
        self.0[0].clone().unwrap_or(0..0)
    }
}

impl Pattern {
    /// Compiles a regular expression that distinguishes upper and lower case.
    ///
    /// # Errors
    ///
    /// The message of the regex library, if the expression is invalid.
    pub fn new(text: &str) -> Result<Pattern, String> {
        Pattern::compiled(text, false)
    }

    /// Compiles a regular expression that ignores case.
    pub(crate) fn caseless(text: &str) -> Result<Pattern, String> {
        Pattern::compiled(text, true)
    }

    fn compiled(text: &str, caseless: bool) -> Result<Pattern, String> {
        let translated = syntax::translated(text);
        let linear = translated.linear.and_then(|text| linear(&text, caseless));
        let engine = match linear {
            Some(regex) => Engine::Linear(regex),
            None => Engine::Pcre(Box::new(pcre(&translated.pcre, caseless)?)),
        };
        let text = if caseless {
            format!("(?i){text}")
        } else {
            text.to_string()
        };
        Ok(Pattern { text, engine })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn matches(&self, bytes: &[u8]) -> bool {
        match &self.engine {
            Engine::Linear(regex) => regex.is_match(bytes),
            Engine::Pcre(regex) => regex.is_match(bytes).unwrap_or(false),
        }
    }

    /// Searches for the first match at or after `from`, and gives `see` the number and the position
    /// of each group.
    fn search(&self, bytes: &[u8], from: usize, mut see: impl FnMut(usize, Range<usize>)) -> bool {
        match &self.engine {
            Engine::Linear(regex) => {
                let Some(captures) = regex.captures_at(bytes, from) else {
                    return false;
                };
                for (number, group) in captures.iter().enumerate() {
                    group
                        .into_iter()
                        .for_each(|group| see(number, group.range()));
                }
            }
            Engine::Pcre(regex) => {
                let mut found = regex.capture_locations();
                let Ok(Some(_)) = regex.captures_read_at(&mut found, bytes, from) else {
                    return false;
                };
                for number in 0..found.len() {
                    let group = found.get(number);
                    group
                        .into_iter()
                        .for_each(|(start, end)| see(number, start..end));
                }
            }
        }
        true
    }

    /// Returns the groups of the first match at or after `from`.
    pub fn groups_at(&self, bytes: &[u8], from: usize) -> Option<Groups> {
        let mut groups = Groups::default();
        let found = self.search(bytes, from, |number, group| {
            if let Some(slot) = groups.0.get_mut(number) {
                *slot = Some(group);
            }
        });
        found.then_some(groups)
    }

    pub fn groups(&self, bytes: &[u8]) -> Option<Groups> {
        self.groups_at(bytes, 0)
    }

    /// Returns the names of the groups `(?<name>...)`, each at the number of its group.
    fn names(&self) -> Vec<Option<&str>> {
        match &self.engine {
            Engine::Linear(regex) => regex.capture_names().collect(),
            Engine::Pcre(regex) => regex.capture_names().iter().map(Option::as_deref).collect(),
        }
    }

    /// Returns the names of the groups `(?<name>...)`.
    pub(crate) fn group_names(&self) -> Vec<&str> {
        self.names().into_iter().flatten().collect()
    }

    /// Returns the names and the bytes of the named groups of the first match.
    pub(crate) fn named_groups(&self, bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
        let names = self.names();
        let mut groups = Vec::new();
        self.search(bytes, 0, |number, group| {
            if let Some(name) = names.get(number).copied().flatten() {
                let text = bytes.get(group).unwrap_or_default();
                groups.push((name.to_string(), text.to_vec()));
            }
        });
        groups
    }
}

fn linear(text: &str, caseless: bool) -> Option<regex::bytes::Regex> {
    regex::bytes::RegexBuilder::new(text)
        .unicode(false)
        .case_insensitive(caseless)
        .dot_matches_new_line(true)
        .size_limit(4 << 20)
        .build()
        .ok()
}

/// Compiles an expression for PCRE2's interpreter. Machine code (JIT) counts steps otherwise, and
/// has a stack of its own that can overflow: it would miss matches that Apache finds.
fn pcre(text: &str, caseless: bool) -> Result<pcre2::bytes::Regex, String> {
    pcre2::bytes::RegexBuilder::new()
        .caseless(caseless)
        .dotall(true)
        .build(text)
        .map_err(|error| {
            let text = error.to_string();
            let (_, why) = text.rsplit_once(": ").unwrap_or(("", &text));
            why.to_string()
        })
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.text == other.text
    }
}

impl serde::Serialize for Pattern {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&self.text)
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;

//! Regular expressions as in Apache: PCRE's syntax over bytes. `.` does not match a newline, and
//! `$` matches the end of the text only. The time of a match is limited.
//!
//! An engine with linear time runs most expressions. A backtracking engine runs expressions with
//! look-around or backreferences. A match that needs more than `MOST_STEPS` steps of this engine
//! fails.

mod pcre;

use std::ops::Range;

/// The most steps of a backtracking match.
const MOST_STEPS: usize = 1_000_000;
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
    Backtracking(Box<fancy_regex::Regex>),
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
        let escaped = pcre::translated(text);
        let linear = regex::bytes::RegexBuilder::new(&escaped)
            .unicode(false)
            .case_insensitive(caseless)
            .size_limit(4 << 20)
            .build();
        let engine = match linear {
            Ok(linear) => Engine::Linear(linear),
            Err(error) => match backtracking(&escaped, caseless) {
                Some(regex) => Engine::Backtracking(Box::new(regex)),
                None => {
                    let text = error.to_string();
                    let last = text.lines().last().unwrap_or("not a regular expression");
                    return Err(last.trim_start_matches("error: ").to_string());
                }
            },
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
            Engine::Backtracking(regex) => regex.is_match(bytes).unwrap_or(false),
        }
    }

    /// Returns the groups of the first match at or after `from`.
    pub fn groups_at(&self, bytes: &[u8], from: usize) -> Option<Groups> {
        let mut groups = Groups::default();
        match &self.engine {
            Engine::Linear(regex) => {
                let captures = regex.captures_at(bytes, from)?;
                for (slot, group) in groups.0.iter_mut().zip(captures.iter()) {
                    *slot = group.map(|group| group.range());
                }
            }
            Engine::Backtracking(regex) => {
                let captures = regex.captures_from_pos(bytes, from).ok()??;
                for (slot, group) in groups.0.iter_mut().zip(captures.iter()) {
                    *slot = group.map(|group| group.range());
                }
            }
        }
        Some(groups)
    }

    pub fn groups(&self, bytes: &[u8]) -> Option<Groups> {
        self.groups_at(bytes, 0)
    }

    /// Returns the names of the groups `(?<name>...)`.
    pub(crate) fn group_names(&self) -> Vec<&str> {
        match &self.engine {
            Engine::Linear(regex) => regex.capture_names().flatten().collect(),
            Engine::Backtracking(regex) => regex.capture_names().flatten().collect(),
        }
    }

    /// Returns the names and the bytes of the named groups of the first match.
    pub(crate) fn named_groups(&self, bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
        let names = self.group_names().into_iter();
        match &self.engine {
            Engine::Linear(regex) => regex.captures(bytes).map_or_else(Vec::new, |captures| {
                let found = |name: &str| Some(captures.name(name)?.as_bytes().to_vec());
                names
                    .filter_map(|name| Some((name.to_string(), found(name)?)))
                    .collect()
            }),
            Engine::Backtracking(regex) => {
                let captures = regex.captures(bytes).ok().flatten();
                captures.map_or_else(Vec::new, |captures| {
                    let found = |name: &str| Some(captures.name(name)?.as_bytes().to_vec());
                    names
                        .filter_map(|name| Some((name.to_string(), found(name)?)))
                        .collect()
                })
            }
        }
    }
}

fn backtracking(text: &str, caseless: bool) -> Option<fancy_regex::Regex> {
    let text = if caseless {
        format!("(?i){text}")
    } else {
        text.to_string()
    };
    fancy_regex::RegexBuilder::new(&text)
        .backtrack_limit(MOST_STEPS)
        .bytes_mode(fancy_regex::BytesMode::Ascii)
        .build()
        .ok()
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
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_pcre_does() {
        for (pattern, text, expected) in [
            ("^/a(.*)$", "/abc", true),
            ("(?!x)y", "y", true),
            ("^(?!.*\\.php$)", "/a.php", false),
            ("^(a)\\1$", "aa", true),
            ("^/{x}$", "/{x}", true),
            ("a{2}", "aa", true),
            ("^[^/]+$", "\u{e9}", true),
        ] {
            let compiled = Pattern::new(pattern).expect(pattern);
            assert_eq!(compiled.matches(text.as_bytes()), expected, "{pattern}");
        }
        let before_bytes = Pattern::new("^/a(?!b)(.)(.*)c").expect("right");
        let text = b"/a\xff\xc3c";
        let groups = before_bytes.groups(text).expect("a match");
        assert_eq!(groups.get(text, 2), Some(&b"\xc3"[..]));
        let groups = Pattern::new("(?<=.)[^c]")
            .expect("right")
            .groups_at(text, 3);
        assert_eq!(groups.map(|groups| groups.whole()), Some(3..4));
        assert!(Pattern::new("(").is_err());
        assert!(Pattern::caseless("ABC").expect("right").matches(b"abc"));
    }

    #[test]
    fn a_match_that_takes_too_long_is_none() {
        let slow = Pattern::new("^(?=(a+)+$)b").expect("right");
        assert!(!slow.matches("a".repeat(64).as_bytes()));
    }

    #[test]
    fn groups_are_counted_from_the_whole_match() {
        let pattern = Pattern::new("/(\\w+)/(x)?").expect("right");
        let groups = pattern.groups(b"at /one/ ").expect("a match");
        assert_eq!(groups.get(b"at /one/ ", 1), Some(&b"one"[..]));
        assert_eq!(groups.get(b"at /one/ ", 2), None);
        assert_eq!(groups.whole(), 3..8);
    }
}

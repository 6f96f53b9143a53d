//! `Substitute` (Apache's mod_substitute): rules that change the text of responses line by line,
//! and the responses to which the rules apply.

use crate::{Pattern, Piece, Text};
use std::sync::Arc;

/// The longest line in bytes that a rule may make by default.
pub const LONGEST_LINE: usize = 1 << 20;

/// The substitutions of one location.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Substitutions {
    /// The rules in the order in which they are applied to a line.
    pub rules: Vec<Arc<Substitution>>,
    /// `SubstituteMaxLineLength`: the longest line in bytes that a rule may make.
    pub longest_line: usize,
    /// `SubstituteInheritBefore`: the rules of outer sections come first.
    inherits_before: bool,
    /// `SetOutputFilter SUBSTITUTE`
    pub always: bool,
    /// `AddOutputFilterByType SUBSTITUTE`: media types in lower case. `text/*` means all types of
    /// text.
    by_type: Vec<String>,
    /// `AddOutputFilter SUBSTITUTE`: suffixes without the dot, in lower case.
    by_suffix: Vec<String>,
}

/// One `Substitute` line.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Substitution {
    pub find: Find,
    /// Groups `$0` to `$9` are inserted if `find` is a pattern.
    pub replacement: Text,
    /// The flag `q`: later rules see the parts of the line before and behind a replacement, and
    /// the replacement itself, as separate texts.
    pub splits: bool,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Find {
    Pattern(Pattern),
    /// The flag `n`: a fixed text.
    Fixed {
        text: Vec<u8>,
        caseless: bool,
    },
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum SubstitutionChange {
    Rule(Arc<Substitution>),
    LongestLine(usize),
    InheritBefore(bool),
    Always(bool),
    ByType(String),
    BySuffix(String),
    ForgetSuffix(String),
}

impl Default for Substitutions {
    fn default() -> Substitutions {
        Substitutions {
            rules: Vec::new(),
            longest_line: LONGEST_LINE,
            inherits_before: false,
            always: false,
            by_type: Vec::new(),
            by_suffix: Vec::new(),
        }
    }
}

impl Substitutions {
    /// Tells whether no response of the location is changed.
    pub fn are_off(&self) -> bool {
        let chosen = self.always || !self.by_type.is_empty() || !self.by_suffix.is_empty();
        self.rules.is_empty() || !chosen
    }

    /// Tells whether the rules apply to a response with this status and media type. Like Apache,
    /// chooses by type only responses with the status 200, unless `any_status` is set.
    pub fn are_for(&self, status: u16, media_type: &str, file: &[u8], any_status: bool) -> bool {
        let bare = media_type.split(';').next().unwrap_or_default().trim();
        let bare = bare.to_ascii_lowercase();
        let is_type = |known: &String| match known.strip_suffix('*') {
            Some(kind) => bare.starts_with(kind),
            None => *known == bare,
        };
        let name = file.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let mut suffixes = name.split(|byte| *byte == b'.').skip(1);
        let has = |suffix: &[u8]| {
            let mut known = self.by_suffix.iter();
            known.any(|known| known.as_bytes().eq_ignore_ascii_case(suffix))
        };
        !self.rules.is_empty()
            && (self.always
                || suffixes.any(has)
                || ((status == 200 || any_status) && self.by_type.iter().any(is_type)))
    }

    /// Applies the changes of one section.
    pub(crate) fn apply<'c>(&mut self, changes: impl Iterator<Item = &'c SubstitutionChange>) {
        let mut own = Vec::new();
        for change in changes {
            match change {
                SubstitutionChange::Rule(rule) => own.push(rule.clone()),
                SubstitutionChange::LongestLine(bytes) => self.longest_line = *bytes,
                SubstitutionChange::InheritBefore(on) => self.inherits_before = *on,
                SubstitutionChange::Always(on) => self.always = *on,
                SubstitutionChange::ByType(name) => self.by_type.push(name.clone()),
                SubstitutionChange::BySuffix(suffix) => self.by_suffix.push(suffix.clone()),
                SubstitutionChange::ForgetSuffix(suffix) => {
                    self.by_suffix.retain(|known| known != suffix);
                }
            }
        }
        let at = if self.inherits_before {
            self.rules.len()
        } else {
            0
        };
        self.rules.splice(at..at, own);
    }
}

impl Substitution {
    /// Parses `s/PATTERN/REPLACEMENT/FLAGS`. Any character may stand in place of the slash.
    ///
    /// # Errors
    ///
    /// The expected text, and the text that was found instead.
    pub(crate) fn parse(text: &str) -> Result<Substitution, String> {
        let wrong = || format!("expected s/PATTERN/REPLACEMENT/FLAGS, not `{text}`");
        let rest = text.strip_prefix(['s', 'S']).ok_or_else(wrong)?;
        let mark = rest.chars().next().ok_or_else(wrong)?;
        let mut parts = rest[mark.len_utf8()..].splitn(3, mark);
        let (Some(find), Some(replacement)) = (parts.next(), parts.next()) else {
            return Err(wrong());
        };
        if find.is_empty() {
            return Err(wrong());
        }
        let (mut caseless, mut is_fixed, mut splits) = (false, false, false);
        for flag in parts.next().unwrap_or_default().chars() {
            match flag.to_ascii_lowercase() {
                'i' => caseless = true,
                'n' => is_fixed = true,
                'f' => splits = false,
                'q' => splits = true,
                _ => return Err(format!("expected the flags i, n, f or q, not `{flag}`")),
            }
        }
        if is_fixed {
            return Ok(Substitution {
                find: Find::Fixed {
                    text: find.as_bytes().to_vec(),
                    caseless,
                },
                replacement: Text::literal(replacement),
                splits,
            });
        }
        // As in Apache, `.` does not match the newline at the end of a line here.
        let in_line = format!("(?-s){find}");
        let pattern = if caseless {
            Pattern::caseless(&in_line)
        } else {
            Pattern::new(&in_line)
        };
        let pattern = pattern
            .map_err(|why| format!("expected a regular expression ({why}), not `{find}`"))?;
        if pattern.matches(b"") {
            return Err(format!(
                "expected a pattern that does not match the empty text, not `{find}`"
            ));
        }
        Ok(Substitution {
            find: Find::Pattern(pattern),
            replacement: with_groups(replacement),
            splits,
        })
    }
}

/// Parses a replacement: `$0` to `$9` are groups, and a backslash quotes the next character.
fn with_groups(written: &str) -> Text {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = written.chars().peekable();
    while let Some(character) = rest.next() {
        match (character, rest.peek().copied()) {
            ('$', Some(digit)) if digit.is_ascii_digit() => {
                rest.next();
                if !literal.is_empty() {
                    let before = std::mem::take(&mut literal);
                    pieces.push(Piece::Literal(before.into_bytes()));
                }
                pieces.push(Piece::Group((digit as u8 - b'0') as usize));
            }
            ('\\', Some(quoted)) => {
                rest.next();
                literal.push(quoted);
            }
            _ => literal.push(character),
        }
    }
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal.into_bytes()));
    }
    Text {
        written: written.to_string(),
        pieces,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substitution_is_read_as_apache_reads_it() {
        for (text, expected) in [
            ("s/a/b/", true),
            ("S|a|b|iq", true),
            ("s/a/b", true),
            ("s/a//", true),
            ("s#a/b#$1#nF", true),
            ("s/a", false),
            ("s//b/", false),
            ("a/b/c/", false),
            ("s/(/b/", false),
            ("s/(/b/n", true),
            ("s/a/b/g", false),
            ("s/a*/b/", false),
            ("", false),
        ] {
            assert_eq!(Substitution::parse(text).is_ok(), expected, "{text}");
        }
    }

    #[test]
    fn outer_rules_come_last_unless_they_are_inherited_before() {
        let rule = |text: &str| {
            let rule = Substitution::parse(text).expect("right");
            SubstitutionChange::Rule(Arc::new(rule))
        };
        let outer = [rule("s/a/1/"), rule("s/b/2/")];
        let inner = [rule("s/c/3/")];
        let before = [SubstitutionChange::InheritBefore(true), rule("s/c/3/")];
        for (inner, expected) in [(&inner[..], ["3", "1", "2"]), (&before, ["1", "2", "3"])] {
            let mut all = Substitutions::default();
            all.apply(outer.iter());
            all.apply(inner.iter());
            let written = all.rules.iter().map(|rule| &rule.replacement.written[..]);
            assert_eq!(written.collect::<Vec<_>>(), expected);
        }
    }
}

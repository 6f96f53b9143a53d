//! Applies the rules of `Substitute` to a body, line by line, as Apache's mod_substitute does.
//!
//! A rule searches the rest of a line behind each match as if it were a line of its own.

use mehari_config::{Find, Groups, Nothing, Piece, Substitution, Substitutions, VariableSource};
use std::io;
use std::sync::Arc;

/// Changes one body. The caller writes the original bytes and takes the changed bytes.
pub struct Editor {
    rules: Vec<Arc<Substitution>>,
    longest: usize,
    /// The beginning of a line whose end has not been written yet.
    line: Vec<u8>,
    ready: Vec<u8>,
}

/// Why a line cannot be changed.
#[derive(Debug, thiserror::Error)]
#[error("a line of the response is longer than SubstituteMaxLineLength")]
pub struct LineTooLong;

impl Editor {
    pub fn new(substitutions: &Substitutions) -> Editor {
        Editor {
            rules: substitutions.rules.clone(),
            longest: substitutions.longest_line,
            line: Vec::new(),
            ready: Vec::new(),
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if !part.ends_with(b"\n") {
                self.line.extend_from_slice(part);
                if self.line.len() > self.longest {
                    return Err(io::Error::other(LineTooLong));
                }
            } else if self.line.is_empty() {
                self.edit(part)?;
            } else {
                self.line.extend_from_slice(part);
                self.edit_kept()?;
            }
        }
        Ok(())
    }

    /// Takes the changed bytes that are ready.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.ready)
    }

    /// Ends the body and returns the rest of the changed bytes.
    pub fn finish(mut self) -> io::Result<Vec<u8>> {
        self.edit_kept()?;
        Ok(self.ready)
    }

    fn edit_kept(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        self.edit(&line)
    }

    fn edit(&mut self, line: &[u8]) -> io::Result<()> {
        let mut texts: Option<Vec<Vec<u8>>> = None;
        for rule in &self.rules {
            match &mut texts {
                None => texts = changed(rule, line, self.longest)?,
                Some(known) => {
                    let mut next = Vec::with_capacity(known.len());
                    for text in known.drain(..) {
                        match changed(rule, &text, self.longest)? {
                            None => next.push(text),
                            Some(more) => next.extend(more),
                        }
                    }
                    texts = Some(next);
                }
            }
        }
        match texts {
            None => self.ready.extend_from_slice(line),
            Some(texts) => texts.iter().for_each(|text| self.ready.extend(text)),
        }
        Ok(())
    }
}

/// Applies a rule to a text. `None`: the rule does not match. A rule that splits returns several
/// texts.
fn changed(
    rule: &Substitution,
    text: &[u8],
    longest: usize,
) -> Result<Option<Vec<Vec<u8>>>, io::Error> {
    let mut texts = Vec::new();
    let mut changed = Vec::new();
    let mut rest = text;
    let mut length = 0;
    let mut has_match = false;
    while let Some((start, end, replacement)) = next_match(rule, rest) {
        has_match = true;
        length += start + replacement.len();
        // Like Apache, treats a pattern that finds an empty text as one that makes endless lines.
        if length > longest || end == 0 {
            return Err(io::Error::other(LineTooLong));
        }
        changed.extend_from_slice(&rest[..start]);
        if rule.splits {
            texts.push(std::mem::take(&mut changed));
            texts.push(replacement);
        } else {
            changed.extend_from_slice(&replacement);
        }
        rest = &rest[end..];
    }
    if !has_match {
        return Ok(None);
    }
    if length + rest.len() > longest {
        return Err(io::Error::other(LineTooLong));
    }
    changed.extend_from_slice(rest);
    texts.push(changed);
    Ok(Some(texts))
}

/// The groups of a match, which the replacement may insert.
struct Match<'t> {
    text: &'t [u8],
    groups: &'t Groups,
}

impl VariableSource for Match<'_> {
    fn put(&self, piece: &Piece, into: &mut Vec<u8>) {
        if let Piece::Group(number) = piece {
            into.extend_from_slice(self.groups.get(self.text, *number).unwrap_or_default());
        }
    }
}

/// Returns the position of the first match, and its replacement.
fn next_match(rule: &Substitution, text: &[u8]) -> Option<(usize, usize, Vec<u8>)> {
    match &rule.find {
        Find::Fixed {
            text: find,
            caseless,
        } => {
            let start = if *caseless {
                let mut parts = text.windows(find.len());
                parts.position(|part| part.eq_ignore_ascii_case(find))?
            } else {
                memchr::memmem::find(text, find)?
            };
            let replacement = rule.replacement.of(&Nothing);
            Some((start, start + find.len(), replacement))
        }
        Find::Pattern(pattern) => {
            let groups = pattern.groups(text)?;
            let whole = groups.whole();
            let matched = Match {
                text,
                groups: &groups,
            };
            let replacement = rule.replacement.of(&matched);
            Some((whole.start, whole.end, replacement))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mehari_config::Site;

    /// Returns an editor with these lines of a configuration.
    fn editor(lines: &str) -> Editor {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("httpd.conf");
        std::fs::write(&file, lines).expect("written");
        let site = Site::load(&file, &[]).unwrap_or_else(|problems| panic!("{problems}"));
        Editor::new(&site.main.base.output.substitutions)
    }

    fn edited(lines: &str, parts: &[&str]) -> io::Result<String> {
        let mut editor = editor(lines);
        let mut all = Vec::new();
        for part in parts {
            editor.write(part.as_bytes())?;
            all.extend(editor.take());
        }
        all.extend(editor.finish()?);
        Ok(String::from_utf8(all).expect("text"))
    }

    #[test]
    fn lines_are_changed_however_they_arrive() {
        for parts in [
            &["foo bar\nend foo"][..],
            &["f", "oo bar", "\nend f", "o", "o"],
        ] {
            let text = edited("Substitute s/foo/X/", parts);
            assert_eq!(text.expect("edited"), "X bar\nend X");
        }
    }

    #[test]
    fn later_rules_see_a_split_line_in_parts() {
        for (lines, expected) in [
            ("Substitute s/foo/b/\nSubstitute \"s/b b/Y/\"", "Yar"),
            ("Substitute s/foo/b/q\nSubstitute \"s/b b/Y/\"", "b bar"),
            (
                "Substitute s/foo/b/qn\nSubstitute s/b/YY/q\nSubstitute s/Y/Z/",
                "ZZ ZZar",
            ),
        ] {
            assert_eq!(
                edited(lines, &["foo bar"]).expect("edited"),
                expected,
                "{lines}"
            );
        }
    }

    #[test]
    fn line_that_is_or_becomes_too_long_ends_the_body() {
        let lines = "Substitute s/foo/XXXXXXXX/\nSubstituteMaxLineLength 10";
        assert!(edited(lines, &["foo"]).is_ok());
        assert!(edited(lines, &["foo foo"]).is_err());
        assert!(edited(lines, &["aaaaaa", "aaaaaa", "\n"]).is_err());
        assert!(edited("Substitute s/(?=o)/Y/", &["foo"]).is_err());
    }
}

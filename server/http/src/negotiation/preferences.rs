//! Reads the Accept fields of a request as tolerantly as Apache does.

use super::{INCLUDES, INCLUDES_3};

/// The largest number of entries that are read of a field.
const ENTRIES: usize = 200;

/// One entry of a field: `text/html; level=3; q=0.5`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AcceptEntry {
    /// The name in lower case.
    pub name: String,
    pub quality: f32,
    pub level: f32,
    pub charset: String,
}

/// What a client accepts. A value is `None` if the request has no such field.
#[derive(Debug, Clone, Default)]
pub struct Preferences {
    pub(super) types: Option<Vec<AcceptEntry>>,
    pub(super) charsets: Option<Vec<AcceptEntry>>,
    pub(super) encodings: Option<Vec<AcceptEntry>>,
    pub(super) languages: Option<Vec<AcceptEntry>>,
    pub(super) negotiate: Option<Negotiate>,
}

/// The field Negotiate (RFC 2295 section 8.4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Negotiate {
    /// Whether the client chooses among a list of variants.
    pub is_transparent: bool,
    pub may_choose: bool,
    /// Whether the server may choose only by RFC 2296.
    pub by_rvsa: bool,
    /// Whether the qualities are used exactly as sent.
    pub is_exact: bool,
}

impl Preferences {
    /// Reads the fields of a request: names and values.
    pub fn of<'a>(fields: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Preferences {
        let mut lines: [Option<Vec<u8>>; 6] = Default::default();
        const NAMES: [&str; 6] = [
            "accept",
            "accept-charset",
            "accept-encoding",
            "accept-language",
            "negotiate",
            "user-agent",
        ];
        for (name, value) in fields {
            let mut names = NAMES.iter();
            let known = names.position(|known| known.as_bytes().eq_ignore_ascii_case(name));
            if let Some(line) = known.map(|at| &mut lines[at]) {
                match line {
                    // Several fields of one name count as one list.
                    Some(line) => line.extend_from_slice(&[b", ", value].concat()),
                    None => *line = Some(value.to_vec()),
                }
            }
        }
        let [types, charsets, encodings, languages, negotiate, agent] = lines;
        let read = |line: Option<Vec<u8>>| line.map(|line| entries(&line));
        let is_lynx = agent.is_some_and(|agent| agent.starts_with(b"Lynx"));
        Preferences {
            types: read(types),
            charsets: read(charsets),
            encodings: read(encodings),
            languages: read(languages),
            // Lynx sends `trans` without supporting it.
            negotiate: negotiate
                .filter(|line| !(is_lynx && line == b"trans"))
                .map(|line| Negotiate::read(&line)),
        }
    }

    /// Returns whether a type has a quality below 1. If none has, wildcards count little.
    pub(super) fn has_type_qualities(&self) -> bool {
        let types = self.types.iter().flatten();
        types.into_iter().any(|entry| entry.quality < 1.0)
    }
}

impl Negotiate {
    fn read(line: &[u8]) -> Negotiate {
        let mut said = Negotiate::default();
        for item in line.split(|byte| *byte == b',') {
            let item = item.trim_ascii().to_ascii_lowercase();
            let known = matches!(&item[..], b"trans" | b"vlist" | b"guess-small" | b"*");
            if !known && !item.first().is_some_and(u8::is_ascii_digit) {
                continue;
            }
            said.is_transparent = true;
            if item == b"1.0" {
                said.by_rvsa = true;
            }
            if item == b"1.0" || item == b"*" {
                said.may_choose = true;
                said.is_exact = true;
            }
        }
        said
    }
}

fn entries(mut line: &[u8]) -> Vec<AcceptEntry> {
    let mut entries = Vec::new();
    while !line.is_empty() && entries.len() < ENTRIES {
        let (entry, rest) = entry(line);
        entries.push(entry);
        line = rest;
    }
    entries
}

/// Reads an entry with its parameters. Returns the entry and the rest of the line.
pub(crate) fn entry(line: &[u8]) -> (AcceptEntry, &[u8]) {
    let (name, mut line) = token(line, false);
    let name = lower(name);
    // HTML has level 2 unless the client names another level.
    let level = match name.as_str() {
        "text/html" | INCLUDES => 2.0,
        INCLUDES_3 => 3.0,
        _ => 0.0,
    };
    let mut entry = AcceptEntry {
        name,
        level,
        quality: 1.0,
        charset: String::new(),
    };
    while let Some(rest) = line.strip_prefix(b";") {
        let (parameter, rest) = token(rest, true);
        line = rest;
        entry.take(parameter);
    }
    (entry, line.strip_prefix(b",").unwrap_or(line))
}

impl AcceptEntry {
    fn take(&mut self, parameter: &[u8]) {
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'=';
        let Some(end) = parameter.iter().position(is_end) else {
            return;
        };
        let (name, value) = parameter.split_at(end);
        let begin = value.iter().position(|byte| !is_end(byte));
        let value = begin.map_or(&[][..], |begin| &value[begin..]);
        let value = match value.strip_prefix(b"\"") {
            Some(quoted) => quoted.split(|byte| *byte == b'"').next(),
            None => value.split(u8::is_ascii_whitespace).next(),
        };
        let value = lower(value.unwrap_or_default());
        match lower(name).as_str() {
            "q" | "qs" => self.quality = quality(value.as_bytes()),
            "level" => self.level = number(&value),
            "charset" => self.charset = value,
            _ => {}
        }
    }
}

/// Reads a token up to the next separator. With `with_blanks` the token may contain blanks. Quoted
/// strings are skipped. Returns the token and the rest of the line behind blanks.
pub(crate) fn token(line: &[u8], with_blanks: bool) -> (&[u8], &[u8]) {
    let line = line.trim_ascii_start();
    let mut is_quoted = false;
    let ends = |byte: &u8| {
        if *byte == b'"' {
            is_quoted = !is_quoted;
        }
        let is_blank = byte.is_ascii_whitespace() && !with_blanks;
        !is_quoted && (is_blank || matches!(byte, b';' | b','))
    };
    let end = line.iter().position(ends).unwrap_or(line.len());
    (&line[..end], line[end..].trim_ascii_start())
}

fn lower(text: &[u8]) -> String {
    String::from_utf8_lossy(text).to_ascii_lowercase()
}

fn number(text: &str) -> f32 {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text[..end.unwrap_or(text.len())].parse().unwrap_or(0.0)
}

/// Reads a quality of up to three digits. Any other text counts as 1.
fn quality(text: &[u8]) -> f32 {
    let digits = match text {
        [b'0', b'.', digits @ ..] | [b'.', digits @ ..] => digits,
        [b'0', ..] => return 0.0,
        _ => return 1.0,
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let thousandths: u16 = digits
        .zip([100, 10, 1])
        .map(|(digit, worth)| u16::from(digit - b'0') * worth)
        .sum();
    f32::from(thousandths) / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_qualities_levels_and_character_sets() {
        let all = entries(b"text/html;level=3; q=.5, Text/Plain ; q = \"0.25\" a/b, c/d; q=0,");
        let seen: Vec<_> = all
            .iter()
            .map(|entry| (entry.name.as_str(), entry.quality, entry.level))
            .collect();
        let expected = [
            ("text/html", 0.5, 3.0),
            ("text/plain", 0.25, 0.0),
            ("c/d", 0.0, 0.0),
        ];
        // Behind a parameter only a comma begins the next entry, as in Apache.
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_long_field_is_cut() {
        let line = "a,".repeat(10_000);
        assert_eq!(entries(line.as_bytes()).len(), ENTRIES);
    }

    #[test]
    fn negotiate_decides_what_the_server_may_do() {
        for (line, transparent, may_choose, rvsa) in [
            ("trans", true, false, false),
            ("vlist, 1.0", true, true, true),
            ("*", true, true, false),
            ("2.0", true, false, false),
            ("other", false, false, false),
        ] {
            let said = Negotiate::read(line.as_bytes());
            assert_eq!(said.is_transparent, transparent, "{line}");
            assert_eq!(said.may_choose, may_choose, "{line}");
            assert_eq!(said.by_rvsa, rvsa, "{line}");
        }
    }
}

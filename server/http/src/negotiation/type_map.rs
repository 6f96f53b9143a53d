//! Reads type maps: files that describe the variants of a resource, as Apache's mod_negotiation
//! reads them.
//!
//! A map has one block of header lines for each variant, and blank lines between blocks. A line
//! that begins with a blank continues the line before it, and a line that begins with `#` is a
//! comment. `Body:TAG` is followed by the variant's content, up to the next `TAG`.

use super::{token, Variant, VARIANTS};
use crate::problem::Problem;
use memchr::memmem;

const NO_COLON: Problem = Problem::refused(500, "a type map has a line without `:`");
const NO_VALUE: Problem = Problem::refused(500, "a type map has a header line without a value");
const TOO_MANY: Problem = Problem::refused(500, "a type map has too many variants");

/// Reads a map. `own_name` is the map's file name. Variants with a `Body` get this name.
///
/// # Errors
/// A line is not `Name: value`, or there are more than [`VARIANTS`] variants.
pub fn read(text: &[u8], own_name: &[u8]) -> Result<Vec<Variant>, Problem> {
    let mut blocks = Blocks {
        own_name,
        variants: Vec::new(),
        current: Variant::default(),
        has_content: false,
    };
    let mut rest = text;
    while let Some(line) = next_line(&mut rest) {
        if line.starts_with(b"#") {
            continue;
        }
        if line.trim_ascii().is_empty() {
            blocks.end()?;
            continue;
        }
        let mut line = line.to_vec();
        if !is_body(&line) {
            join_continuations(&mut line, &mut rest);
        }
        if !blocks.take(&line, &mut rest)? {
            return Ok(blocks.variants);
        }
    }
    blocks.end()?;
    Ok(blocks.variants)
}

struct Blocks<'a> {
    own_name: &'a [u8],
    variants: Vec<Variant>,
    current: Variant,
    has_content: bool,
}

impl Blocks<'_> {
    /// Reads a header line. Returns false if the rest of the map is unusable.
    fn take(&mut self, line: &[u8], rest: &mut &[u8]) -> Result<bool, Problem> {
        let colon = memchr::memchr(b':', line).ok_or(NO_COLON)?;
        let name = line[..colon].to_ascii_lowercase();
        let value = without_comments(line[colon + 1..].trim_ascii_start());
        if value.is_empty() {
            return Err(NO_VALUE);
        }
        let variant = &mut self.current;
        let first = token(&value, false).0;
        self.has_content |= name.starts_with(b"content-");
        match &name[..] {
            b"uri" => variant.name = first.to_vec(),
            b"content-type" => variant.set_type(&value),
            b"content-length" => match std::str::from_utf8(first).map(str::parse) {
                Ok(Ok(length)) => variant.length = Some(length),
                _ => return Ok(false),
            },
            b"content-language" => variant.languages = languages(&value),
            b"content-encoding" => variant.encoding = Some(text(first)),
            b"description" => variant.description = text(value.trim_ascii_end()),
            b"body" => return Ok(self.take_body(value.trim_ascii_end(), rest)),
            _ => {}
        }
        Ok(true)
    }

    fn take_body(&mut self, tag: &[u8], rest: &mut &[u8]) -> bool {
        let Some(end) = memmem::find(rest, tag) else {
            return false;
        };
        let variant = &mut self.current;
        variant.body = Some(rest[..end].to_vec());
        variant.length = Some(end as u64);
        variant.name = self.own_name.to_vec();
        *rest = &rest[end..];
        next_line(rest);
        true
    }

    fn end(&mut self) -> Result<(), Problem> {
        let variant = std::mem::take(&mut self.current);
        if std::mem::take(&mut self.has_content) && !variant.name.is_empty() {
            if self.variants.len() >= VARIANTS {
                return Err(TOO_MANY);
            }
            self.variants.push(variant);
        }
        Ok(())
    }
}

fn is_body(line: &[u8]) -> bool {
    line.get(..5)
        .is_some_and(|name| name.eq_ignore_ascii_case(b"body:"))
}

/// Takes the next line, without its end.
fn next_line<'t>(rest: &mut &'t [u8]) -> Option<&'t [u8]> {
    if rest.is_empty() {
        return None;
    }
    let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    let line = &rest[..end];
    *rest = rest.get(end + 1..).unwrap_or_default();
    Some(line)
}

/// Appends the next lines as long as they begin with a blank. Comments among these lines are
/// skipped.
fn join_continuations(line: &mut Vec<u8>, rest: &mut &[u8]) {
    loop {
        let mut ahead = *rest;
        let Some(next) = next_line(&mut ahead) else {
            return;
        };
        let continues = next.first().is_some_and(u8::is_ascii_whitespace);
        if next.starts_with(b"#") {
            *rest = ahead;
        } else if continues && !next.trim_ascii().is_empty() {
            line.push(b' ');
            line.extend_from_slice(next.trim_ascii_start());
            *rest = ahead;
        } else {
            return;
        }
    }
}

/// Replaces comments in parentheses by blanks. Like Apache, the function also does so in quoted
/// strings.
fn without_comments(value: &[u8]) -> Vec<u8> {
    let mut is_comment = false;
    let shown = |byte: &u8| {
        let was_comment = is_comment;
        is_comment = *byte == b'(' || (is_comment && *byte != b')');
        if is_comment || was_comment {
            b' '
        } else {
            *byte
        }
    };
    value.iter().map(shown).collect()
}

fn languages(mut value: &[u8]) -> Vec<String> {
    let mut tags = Vec::new();
    while !value.is_empty() {
        let (tag, rest) = token(value, false);
        tags.push(text(tag).to_ascii_lowercase());
        value = rest
            .strip_prefix(b",")
            .or(rest.strip_prefix(b";"))
            .unwrap_or(rest);
    }
    tags
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_has_variants_with_urls_and_with_bodies() {
        let map = b"# comment\nURI: foo.en.html\nContent-Language: EN, en-gb\n\
            Content-Type: text/html; charset=UTF-8\n  ;qs=0.5\n#between\nDescription: \"one\"\n\n\n\
            Content-type: text/plain (plain; really)\nBody:----xyz----\nfirst\n# second\n\n\
            ----xyz---- rest\nContent-language: de\n\nURI: no-content\n";
        let all = read(map, b"map.var").expect("a correct map");
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].name, b"foo.en.html");
        assert_eq!(all[0].languages, ["en", "en-gb"]);
        assert_eq!(all[0].charset, "utf-8");
        assert_eq!(all[0].source_quality, 0.5);
        assert_eq!(all[0].description, "\"one\"");
        assert_eq!(all[1].body.as_deref(), Some(&b"first\n# second\n\n"[..]));
        assert_eq!(all[1].name, b"map.var");
        assert_eq!(all[1].media_type, "text/plain");
        assert_eq!(all[1].languages, ["de"]);
    }

    #[test]
    fn a_broken_map_is_refused_or_cut_short() {
        assert_eq!(read(b"no colon\n", b"m"), Err(NO_COLON));
        assert_eq!(read(b"URI:\n", b"m"), Err(NO_VALUE));
        let cut = b"URI: a\nContent-Type: a/b\n\nURI: b\nContent-Length: x\n";
        assert_eq!(read(cut, b"m").map(|all| all.len()), Ok(1));
        assert_eq!(
            read(b"Body: X\nnever ends", b"m").map(|all| all.len()),
            Ok(0)
        );
        let many = "URI: a\nContent-Type: a/b\n\n".repeat(VARIANTS + 1);
        assert_eq!(read(many.as_bytes(), b"m"), Err(TOO_MANY));
    }
}

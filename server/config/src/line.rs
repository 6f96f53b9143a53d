//! Lines and words of the httpd.conf language, with the position of each character.
//!
//! A logical line is a line and its continuation lines, with variables replaced. Blanks separate
//! words. A blank between quotes belongs to the word, and the quotes are removed.

use crate::problem::{At, Fault};

/// The longest logical line in characters, with variables replaced. The limit stops a definition
/// that contains itself twice.
pub(crate) const LONGEST: usize = 64 * 1024;

/// A word and its position.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Word {
    pub text: String,
    /// The kind of quotes around the word. `None`: no quotes.
    pub quote: Option<char>,
    pub at: At,
}

pub(crate) type Character = (char, At);

/// An iterator over the logical lines of a text.
pub(crate) struct Lines<'a> {
    rest: std::iter::Peekable<std::str::Lines<'a>>,
    line: u32,
}

impl<'a> Lines<'a> {
    pub fn of(text: &'a str) -> Lines<'a> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Lines {
            rest: text.lines().peekable(),
            line: 0,
        }
    }
}

impl Iterator for Lines<'_> {
    type Item = Vec<Character>;

    fn next(&mut self) -> Option<Vec<Character>> {
        let mut characters = Vec::new();
        loop {
            let Some(text) = self.rest.next() else {
                return (!characters.is_empty()).then_some(characters);
            };
            self.line += 1;
            let goes_on = text.ends_with('\\') && self.rest.peek().is_some();
            let text = if goes_on {
                &text[..text.len() - 1]
            } else {
                text
            };
            for (column, character) in (1..).zip(text.chars()) {
                let line = self.line;
                characters.push((character, At { line, column }));
            }
            if !goes_on {
                return Some(characters);
            }
        }
    }
}

/// Returns the line without surrounding blanks. `None`: the line is empty or a comment.
pub(crate) fn content(line: &[Character]) -> Option<&[Character]> {
    let start = line.iter().position(|(c, _)| !c.is_whitespace())?;
    let end = line.iter().rposition(|(c, _)| !c.is_whitespace())? + 1;
    let content = &line[start..end];
    (content[0].0 != '#').then_some(content)
}

/// Returns the line as text.
pub(crate) fn text(line: &[Character]) -> String {
    line.iter().map(|(character, _)| character).collect()
}

/// Refuses control characters, and bytes that are not UTF-8.
pub(crate) fn check_characters(line: &[Character]) -> Result<(), Fault> {
    let strange = |c: char| c == char::REPLACEMENT_CHARACTER || (c.is_control() && c != '\t');
    match line.iter().find(|(character, _)| strange(*character)) {
        None => Ok(()),
        Some((char::REPLACEMENT_CHARACTER, at)) => Err(Fault::new(*at, "this is not UTF-8 text")),
        Some((control, at)) => {
            let code = *control as u32;
            Err(Fault::new(
                *at,
                format!("a control character (code {code}) is not allowed here"),
            ))
        }
    }
}

/// Returns the text before the first blank: the name of a directive.
pub(crate) fn first_word(line: &[Character]) -> Word {
    let end = line.iter().position(|(c, _)| c.is_whitespace());
    Word {
        text: self::text(&line[..end.unwrap_or(line.len())]),
        quote: None,
        at: line.first().map_or(At::default(), |(_, at)| *at),
    }
}

/// Splits a line into words.
pub(crate) fn words(line: &[Character]) -> Result<Vec<Word>, Fault> {
    let mut words = Vec::new();
    let mut rest = line;
    let is_rule = is_rule(line);
    while let Some(start) = rest.iter().position(|(c, _)| !c.is_whitespace()) {
        rest = &rest[start..];
        let (first, at) = rest[0];
        let (text, width) = match first {
            _ if is_rule => word_of_rule(rest)?,
            '"' | '\'' => match quoted(rest) {
                // Until Apache 1.3, a quote only began a text. Apache still takes such a text.
                Err(_) if is_text_of_an_error(&words) => (self::text(&rest[1..]), rest.len()),
                quoted => quoted?,
            },
            _ => {
                let end = rest.iter().position(|(c, _)| c.is_whitespace());
                let width = end.unwrap_or(rest.len());
                (self::text(&rest[..width]), width)
            }
        };
        let quote = ['"', '\''].into_iter().find(|quote| *quote == first);
        words.push(Word { text, quote, at });
        rest = &rest[width..];
    }
    Ok(words)
}

/// Tells whether the word behind these is the text of an `ErrorDocument`.
fn is_text_of_an_error(words: &[Word]) -> bool {
    words.len() == 2 && words[0].text.eq_ignore_ascii_case("ErrorDocument")
}

/// Tells whether the line is a rule of mod_rewrite, which splits its lines itself.
fn is_rule(line: &[Character]) -> bool {
    let name = first_word(line).text;
    ["RewriteCond", "RewriteRule"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// Returns a word of a rule and its width. A blank behind a backslash belongs to the word. All
/// backslashes stay, in quotes too.
fn word_of_rule(line: &[Character]) -> Result<(String, usize), Fault> {
    let (first, at) = line[0];
    let quote = Some(first).filter(|first| matches!(first, '"' | '\''));
    let start = usize::from(quote.is_some());
    let is_end = |c: char| quote.map_or(c.is_whitespace(), |quote| c == quote);
    let mut end = start;
    while line.get(end).is_some_and(|(c, _)| !is_end(*c)) {
        let next = line.get(end + 1).is_some_and(|(c, _)| c.is_whitespace());
        end += if line[end].0 == '\\' && next { 2 } else { 1 };
    }
    match quote {
        Some(quote) if end >= line.len() => Err(not_closed(quote, at)),
        _ => Ok((text(&line[start..end]), end + start)),
    }
}

fn not_closed(quote: char, at: At) -> Fault {
    let message = format!("this {quote} is not closed; expected another on the same line");
    Fault::new(at, message)
}

/// Returns a quoted word and its width. A backslash escapes only the kind of quote that surrounds
/// the word, and another backslash.
fn quoted(line: &[Character]) -> Result<(String, usize), Fault> {
    let (quote, at) = line[0];
    let mut text = String::new();
    let mut index = 1;
    while let Some((character, _)) = line.get(index) {
        let next = line.get(index + 1).map(|(character, _)| *character);
        match *character {
            c if c == quote => return Ok((text, index + 1)),
            '\\' if next == Some(quote) || next == Some('\\') => {
                text.extend(next);
                index += 2;
            }
            other => {
                text.push(other);
                index += 1;
            }
        }
    }
    Err(not_closed(quote, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        let line = Lines::of(text).next().unwrap_or_default();
        let words = words(&line).expect("the quotes are closed");
        words.into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn quotes_keep_blanks_and_a_backslash_escapes_only_quotes() {
        assert_eq!(
            split(r#"RewriteRule ^a\ b$ "^\\c\ d\" 'e "f'"#),
            ["RewriteRule", r"^a\ b$", r"^\\c\ d\", "e \"f"]
        );
        assert_eq!(
            split(r#"Alias "/a b" '/c "d"'"#),
            ["Alias", "/a b", "/c \"d\""]
        );
        assert_eq!(split(r#"a "x\"y\\z\n" """#), ["a", "x\"y\\z\\n", ""]);
        assert_eq!(split(r#"a b"c"#), ["a", "b\"c"]);
    }

    #[test]
    fn a_single_quote_begins_the_text_of_an_error_document() {
        let words = split("ErrorDocument 404 \"Not here");
        assert_eq!(words, ["ErrorDocument", "404", "Not here"]);
    }

    #[test]
    fn each_word_of_a_continued_line_keeps_its_position() {
        let line = Lines::of("Alias \\\n  /a \\\n/b\nnext")
            .next()
            .expect("a line");
        let words = words(&line).expect("words");
        let places: Vec<_> = words.iter().map(|w| (w.at.line, w.at.column)).collect();
        assert_eq!(places, [(1, 1), (2, 3), (3, 1)]);
    }

    #[test]
    fn a_quote_without_end_is_a_fault_at_its_beginning() {
        let line = Lines::of("Alias \"/a").next().expect("a line");
        assert_eq!(
            words(&line).expect_err("open").at,
            At { line: 1, column: 7 }
        );
    }
}

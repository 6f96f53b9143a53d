//! Writes an expression of PCRE's syntax as the regex libraries need it. In their syntax some
//! characters have a meaning that they do not have in PCRE: `{` without a number, `\<`, `\h`, and
//! `[`, `&&`, `~~` and `--` in a class.

use std::iter::Peekable;
use std::str::Chars;

pub(super) fn translated(text: &str) -> String {
    let mut translated = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    // The letter of the escape before this character. Some escapes take an argument in braces.
    let mut before = None;
    while let Some(character) = rest.next() {
        match character {
            '\\' => {
                before = escape(&mut rest, &mut translated);
                continue;
            }
            '{' if !matches!(before, Some('p' | 'P' | 'x'))
                && !rest.peek().is_some_and(char::is_ascii_digit) =>
            {
                translated.push_str("\\{");
            }
            '[' => class(&mut rest, &mut translated),
            other => translated.push(other),
        }
        before = None;
    }
    translated
}

/// Horizontal and vertical white space, `\h` and `\v`, as the members of a class.
const HORIZONTAL: &str = "\\t \\xA0";
const VERTICAL: &str = "\\n-\\r\\x85";

/// Writes an escape outside of classes, and returns its letter.
fn escape(rest: &mut Peekable<Chars<'_>>, translated: &mut String) -> Option<char> {
    let letter = rest.next();
    match letter {
        Some('h') => translated.extend(["[", HORIZONTAL, "]"]),
        Some('H') => translated.extend(["[^", HORIZONTAL, "]"]),
        Some('v') => translated.extend(["[", VERTICAL, "]"]),
        Some('V') => translated.extend(["[^", VERTICAL, "]"]),
        Some('R') => translated.extend(["(?:\\r\\n|[", VERTICAL, "])"]),
        other => quoted(other, translated),
    }
    letter
}

/// Writes an escape in a class, and returns whether it can begin a range.
fn escape_in_class(rest: &mut Peekable<Chars<'_>>, translated: &mut String) -> bool {
    let letter = rest.next();
    match letter {
        Some('h') => translated.push_str(HORIZONTAL),
        Some('v') => translated.push_str(VERTICAL),
        other => quoted(other, translated),
    }
    !matches!(
        letter,
        Some('d' | 'D' | 's' | 'S' | 'w' | 'W' | 'h' | 'v' | 'p' | 'P')
    )
}

/// In the libraries, `\<` and `\>` are word boundaries.
fn quoted(letter: Option<char>, translated: &mut String) {
    if !matches!(letter, Some('<' | '>')) {
        translated.push('\\');
    }
    translated.extend(letter);
}

/// What stands before a `-` in a class.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// Nothing that can begin a range.
    Nothing,
    Character,
    /// The hyphen of a range.
    Hyphen,
}

/// Writes a class from behind its `[` on.
fn class(rest: &mut Peekable<Chars<'_>>, translated: &mut String) {
    translated.push('[');
    translated.extend(rest.next_if_eq(&'^'));
    let mut before = Before::Nothing;
    if rest.next_if_eq(&']').is_some() {
        translated.push_str("\\]");
        before = Before::Character;
    }
    while let Some(character) = rest.next() {
        let is_range_end = before == Before::Hyphen;
        let can_begin_range = match character {
            ']' => return translated.push(']'),
            '[' => {
                let is_named = named_class(rest, translated);
                if !is_named {
                    translated.push_str("\\[");
                }
                !is_named
            }
            '\\' => escape_in_class(rest, translated),
            '-' if before == Before::Character && rest.peek() != Some(&']') => {
                translated.push('-');
                before = Before::Hyphen;
                continue;
            }
            '-' | '&' | '~' => {
                translated.extend(['\\', character]);
                true
            }
            other => {
                translated.push(other);
                true
            }
        };
        before = if can_begin_range && !is_range_end {
            Before::Character
        } else {
            Before::Nothing
        };
    }
}

/// Takes `:alpha:]` and the like behind a `[` in a class. Returns false if there is no such name.
fn named_class(rest: &mut Peekable<Chars<'_>>, translated: &mut String) -> bool {
    let ahead: String = rest.clone().collect();
    let named = ahead
        .strip_prefix(':')
        .and_then(|ahead| ahead.split_once(":]"));
    let Some((name, _)) =
        named.filter(|(name, _)| name.chars().all(|c| c.is_ascii_lowercase() || c == '^'))
    else {
        return false;
    };
    translated.push_str(&format!("[:{name}:]"));
    rest.nth(name.len() + 2);
    true
}

#[cfg(test)]
mod tests {
    use crate::Pattern;

    /// A pattern, the texts that it matches, and the texts that it does not match.
    const ROWS: &[(&str, &[&str], &[&str])] = &[
        ("^a\\<b\\>$", &["a<b>"], &["ab"]),
        ("^[\\<\\>]$", &["<", ">"], &["\\"]),
        ("^[a&&b]$", &["a", "b", "&"], &["c"]),
        ("^[a~~b]$", &["a", "b", "~"], &["c"]),
        ("^[!--]$", &["!", "-", ","], &["a", "."]),
        ("^[--/]$", &["-", ".", "/"], &["a"]),
        ("^[a-c-z]$", &["a", "b", "-", "z"], &["d"]),
        ("^[\\d-x]$", &["1", "-", "x"], &["e"]),
        ("^[-a]$", &["-", "a"], &["b"]),
        ("^[a-]$", &["-", "a"], &["b"]),
        ("^[a\\-z]$", &["-", "a", "z"], &["b"]),
        ("^[a[b]$", &["[", "a", "b"], &["c"]),
        ("^[[:digit:]x]$", &["1", "x"], &[":", "d"]),
        ("^[[:^digit:]]$", &["a"], &["1"]),
        ("^[[:x]$", &["[", ":", "x"], &["a"]),
        ("^[]a]$", &["]", "a"], &["b"]),
        ("^[^]a]$", &["b"], &["]", "a"]),
        ("^[\\]a]$", &["]", "a"], &["\\"]),
        ("^[{}]$", &["{", "}"], &["a"]),
        ("^[\\w.-]+$", &["a.b-c"], &["a/b"]),
        ("^[\\h]$", &["\t", " "], &["h", "a"]),
        ("^\\h$", &["\t", " "], &["h", "a"]),
        ("^\\H$", &["a"], &[" "]),
        ("^a\\Rb$", &["a\r\nb", "a\nb"], &["ab"]),
        ("^[\\vx]\\v$", &["x\n"], &["xv"]),
        ("^[\\w]$", &["a"], &["\u{e9}"]),
        ("^..$", &["\u{e9}"], &["a"]),
        ("^[^a]{2}$", &["\u{e9}"], &["\u{e9}\u{e9}"]),
        ("^\u{e9}$", &["\u{e9}"], &["e"]),
        ("^[^\\\\/]$", &["a"], &["\\", "/"]),
    ];

    #[test]
    fn classes_and_escapes_mean_what_they_mean_in_pcre() {
        for (pattern, matching, others) in ROWS {
            // A look-ahead needs the other library.
            for text in [pattern.to_string(), format!("(?=.){pattern}")] {
                let compiled = Pattern::new(&text).expect(pattern);
                for text in *matching {
                    assert!(compiled.matches(text.as_bytes()), "{compiled} and {text}");
                }
                for text in *others {
                    assert!(!compiled.matches(text.as_bytes()), "{compiled} and {text}");
                }
            }
        }
    }
}

//! Splits a Rust source into tokens.

/// Returns the tokens of `source`: identifiers, `::`, and single characters of punctuation. Drops
/// comments, literals and items that only tests use.
pub fn tokens(source: &str) -> Vec<&str> {
    let mut found = with_strings(source);
    found.retain(|token| is_word(token) && !is_string(token) || is_punctuation(token));
    without_tests(&found)
}

/// Returns the same tokens and the strings with their quotes. Keeps the items that only tests use.
pub fn with_strings(source: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = token_length(rest, first);
        let (token, after) = rest.split_at(length);
        if is_word(token) || is_string(token) || is_punctuation(token) {
            found.push(token);
        }
        rest = after;
    }
    found
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Returns whether a token is a string, raw or not.
pub fn is_string(token: &str) -> bool {
    token.trim_end_matches('#').ends_with('"')
}

fn is_punctuation(token: &str) -> bool {
    token == "::" || "{}()[],;*#!=".contains(token)
}

/// Returns the length of the token at the start of `rest`. Blanks, a comment and a literal are one
/// token each.
fn token_length(rest: &str, first: char) -> usize {
    let of_word = |text: &str| {
        let is_end = |one: char| !(one.is_alphanumeric() || one == '_');
        text.find(is_end).unwrap_or(text.len())
    };
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return rest.find("*/").map_or(rest.len(), |end| end + 2);
    }
    if let Some(length) = raw_string(rest) {
        return length;
    }
    match first {
        '"' => quoted(rest, 0),
        'b' if rest.starts_with("b\"") => quoted(rest, 1),
        'b' if rest.starts_with("b'") => 1 + character(&rest[1..]),
        'c' if rest.starts_with("c\"") => quoted(rest, 1),
        '\'' => character(rest),
        ':' if rest.starts_with("::") => 2,
        _ if first.is_alphanumeric() || first == '_' => of_word(rest),
        _ => first.len_utf8(),
    }
}

/// Returns the length of a raw string: `r"..."`, `r#"..."#`, `br"..."`.
fn raw_string(rest: &str) -> Option<usize> {
    let start = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('r')?;
    let body = start.trim_start_matches('#');
    let marks = start.len() - body.len();
    let text = body.strip_prefix('"')?;
    let end = text.find(&format!("\"{}", "#".repeat(marks)))?;
    Some(rest.len() - text.len() + end + 1 + marks)
}

/// Returns the length of a string whose quote is at `at`.
fn quoted(rest: &str, at: usize) -> usize {
    let mut is_escaped = false;
    for (index, byte) in rest.bytes().enumerate().skip(at + 1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Returns the length of a character literal, or 1 for the mark of a lifetime.
fn character(rest: &str) -> usize {
    let mut inner = rest.chars().skip(1);
    let first = inner.next().unwrap_or('\'');
    if first == '\\' {
        return rest[3..].find('\'').map_or(rest.len(), |end| end + 4);
    }
    match inner.next() {
        Some('\'') => 2 + first.len_utf8(),
        _ => 1,
    }
}

/// Drops each item after `#[cfg(test)]`, up to its semicolon or closing brace.
fn without_tests<'s>(tokens: &[&'s str]) -> Vec<&'s str> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].starts_with(&MARK) {
            at = item_end(tokens, at + MARK.len());
        } else {
            kept.push(tokens[at]);
            at += 1;
        }
    }
    kept
}

/// Returns the position after the item that starts at `at`.
fn item_end(tokens: &[&str], mut at: usize) -> usize {
    let mut depth = 0usize;
    while let Some(&token) = tokens.get(at) {
        at += 1;
        match token {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            ";" if depth == 0 => return at,
            _ => continue,
        }
        if token == "}" && depth == 0 && tokens.get(at) != Some(&";") {
            return at;
        }
    }
    at
}

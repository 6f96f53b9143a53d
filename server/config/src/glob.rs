//! Shell patterns (`*`, `?` and `[set]`), matched without an allocation.
//!
//! `<Files>`, `<Directory>`, `<Location>` and `Include` use them. A pattern always matches within
//! one path segment.

/// Tells whether `text` contains a wildcard.
pub(crate) fn is_pattern(text: &[u8]) -> bool {
    text.iter().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

/// Tells whether one path segment matches the pattern of one segment.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // The positions in pattern and text at which to continue after a mismatch. Only the last `*`
    // needs backtracking.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p + 1, t));
            p += 1;
        } else if let Some(width) = matches_one(&pattern[p..], text[t]) {
            p += width;
            t += 1;
        } else if let Some((after_star, from)) = star {
            p = after_star;
            t = from + 1;
            star = Some((after_star, from + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// Tells whether a path matches the pattern of a path with as many segments.
pub(crate) fn matches_path(pattern: &[u8], text: &[u8]) -> bool {
    let is_slash = |byte: &u8| *byte == b'/';
    let (mut patterns, mut texts) = (pattern.split(is_slash), text.split(is_slash));
    loop {
        match (patterns.next(), texts.next()) {
            (None, None) => return true,
            (Some(pattern), Some(text)) if matches(pattern, text) => {}
            _ => return false,
        }
    }
}

/// Returns the width of the pattern's first element if it matches `byte`.
fn matches_one(pattern: &[u8], byte: u8) -> Option<usize> {
    match *pattern.first()? {
        b'?' => Some(1),
        b'\\' if pattern.len() > 1 => (pattern[1] == byte).then_some(2),
        b'[' => match set(&pattern[1..]) {
            Some((members, negated, width)) => {
                (contains(members, byte) != negated).then_some(width + 1)
            }
            None => (byte == b'[').then_some(1),
        },
        literal => (literal == byte).then_some(1),
    }
}

/// Returns the members of a `[set]`, whether the set is negated, and its width after the `[`.
/// `None`: the set has no closing `]`.
fn set(pattern: &[u8]) -> Option<(&[u8], bool, usize)> {
    let negated = matches!(pattern.first(), Some(b'!' | b'^'));
    let start = usize::from(negated);
    // A `]` at the beginning is a member of the set.
    let end = pattern
        .iter()
        .skip(start + 1)
        .position(|byte| *byte == b']')?
        + start
        + 1;
    Some((&pattern[start..end], negated, end + 1))
}

fn contains(members: &[u8], byte: u8) -> bool {
    let mut rest = members;
    while let [first, others @ ..] = rest {
        if let [b'-', last, after @ ..] = others {
            if (*first..=*last).contains(&byte) {
                return true;
            }
            rest = after;
        } else {
            if *first == byte {
                return true;
            }
            rest = others;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn glob_patterns_match_as_in_the_shell() {
        for (pattern, text, expected) in [
            ("*.pl", "hello.pl", true),
            ("*.pl", "hello.plx", false),
            ("*", "", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("?ello", "hello", true),
            ("?", "", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]]", "]", true),
            ("[", "[", true),
            ("[ab", "[ab", true),
            ("\\*", "*", true),
            ("\\*", "x", false),
            ("***", "anything", true),
        ] {
            assert_eq!(
                matches(pattern.as_bytes(), text.as_bytes()),
                expected,
                "{pattern} {text}"
            );
        }
    }
}

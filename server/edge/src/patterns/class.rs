//! Matches the single-character parts of a pattern: `a`, `.`, `%d`, `[^%s-z]`.

use super::{Fault, Matcher};

impl Matcher<'_> {
    /// Returns the end of the single-character class that begins at `p`.
    pub(super) fn class_end(&self, p: usize) -> Result<usize, Fault> {
        match self.pattern[p] {
            b'%' if p + 1 < self.pattern.len() => Ok(p + 2),
            b'%' => Err(Fault::Malformed("malformed pattern (ends with '%')")),
            b'[' => {
                let mut at = p + 1 + usize::from(self.pattern.get(p + 1) == Some(&b'^'));
                let first = at;
                loop {
                    match self.pattern.get(at) {
                        None => return Err(Fault::Malformed("malformed pattern (missing ']')")),
                        Some(b']') if at > first => return Ok(at + 1),
                        Some(b'%') => at += 2,
                        Some(_) => at += 1,
                    }
                }
            }
            _ => Ok(p + 1),
        }
    }

    pub(super) fn is_one(&self, s: usize, p: usize, next: usize) -> bool {
        let Some(&byte) = self.text.get(s) else {
            return false;
        };
        match self.pattern[p] {
            b'.' => true,
            b'%' => is_of(byte, self.pattern[p + 1]),
            b'[' => self.is_in_set(byte, p, next),
            own => own == byte,
        }
    }

    /// Returns whether the set contains the byte. The set begins with its bracket at `p` and ends
    /// before `next`.
    pub(super) fn is_in_set(&self, byte: u8, p: usize, next: usize) -> bool {
        let set = &self.pattern[p + 1..next - 1];
        let (negated, set) = match set.split_first() {
            Some((b'^', rest)) => (true, rest),
            _ => (false, set),
        };
        let mut at = 0;
        let mut found = false;
        while at < set.len() {
            match (set[at], set.get(at + 1), set.get(at + 2)) {
                (b'%', Some(class), _) => {
                    found |= is_of(byte, *class);
                    at += 2;
                }
                (low, Some(b'-'), Some(high)) => {
                    found |= (low..=*high).contains(&byte);
                    at += 3;
                }
                (own, ..) => {
                    found |= own == byte;
                    at += 1;
                }
            }
        }
        found != negated
    }
}

/// Returns whether the byte is in `%a` or a similar class. An upper-case letter negates the class.
fn is_of(byte: u8, class: u8) -> bool {
    let is = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'g' => byte.is_ascii_graphic(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => byte.is_ascii_whitespace() || byte == 0x0b,
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    is != class.is_ascii_uppercase()
}

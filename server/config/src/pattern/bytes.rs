//! Sets of bytes: what a class such as `[^a-z\d]` or an escape such as `\w` matches. A character is
//! one byte, and only ASCII has letters.

use std::fmt::Write as _;

/// Tells whether a byte belongs to a set.
type Holds = fn(u8) -> bool;

/// The classes in brackets, such as `[:alpha:]`.
const NAMED: &[(&str, Holds)] = &[
    ("alnum", |byte| byte.is_ascii_alphanumeric()),
    ("alpha", |byte| byte.is_ascii_alphabetic()),
    ("ascii", |byte| byte.is_ascii()),
    ("blank", |byte| matches!(byte, b' ' | b'\t')),
    ("cntrl", |byte| byte.is_ascii_control()),
    ("digit", |byte| byte.is_ascii_digit()),
    ("graph", |byte| byte.is_ascii_graphic()),
    ("lower", |byte| byte.is_ascii_lowercase()),
    ("print", |byte| byte.is_ascii_graphic() || byte == b' '),
    ("punct", |byte| byte.is_ascii_punctuation()),
    ("space", is_space),
    ("upper", |byte| byte.is_ascii_uppercase()),
    ("word", is_word),
    ("xdigit", |byte| byte.is_ascii_hexdigit()),
];

/// The escapes that match one byte of several. The upper case letter matches the other bytes.
const ESCAPED: &[(u8, Holds)] = &[
    (b'd', |byte| byte.is_ascii_digit()),
    (b'h', |byte| matches!(byte, b'\t' | b' ' | 0xa0)),
    (b's', is_space),
    (b'v', |byte| matches!(byte, b'\n'..=b'\r' | 0x85)),
    (b'w', is_word),
];

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[derive(Clone)]
pub(super) struct Bytes([bool; 256]);

impl Bytes {
    pub(super) fn none() -> Bytes {
        Bytes([false; 256])
    }

    fn of(holds: impl Fn(u8) -> bool) -> Bytes {
        let mut bytes = Bytes::none();
        for byte in 0..=u8::MAX {
            bytes.0[usize::from(byte)] = holds(byte);
        }
        bytes
    }

    /// Returns what the escape with this letter matches: `\d`.
    pub(super) fn escaped(letter: u8) -> Option<Bytes> {
        let known = |&&(name, _): &&(u8, Holds)| name == letter.to_ascii_lowercase();
        let (name, holds) = ESCAPED.iter().find(known)?;
        Some(Bytes::of(|byte| holds(byte) == (*name == letter)))
    }

    /// Returns what a class in brackets matches: `alpha` or `^alpha`. None is returned for the
    /// classes whose opposite depends on whether case is ignored, too.
    pub(super) fn named(name: &str) -> Option<Bytes> {
        let (wanted, name) = name
            .strip_prefix('^')
            .map_or((true, name), |rest| (false, rest));
        let (_, holds) = NAMED.iter().find(|(known, _)| *known == name)?;
        let has_case = matches!(name, "lower" | "upper");
        (wanted || !has_case).then(|| Bytes::of(|byte| holds(byte) == wanted))
    }

    pub(super) fn newline() -> Bytes {
        Bytes::of(|byte| byte == b'\n')
    }

    pub(super) fn add(&mut self, other: &Bytes) {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own |= other;
        }
    }

    pub(super) fn add_range(&mut self, first: u8, last: u8) {
        self.add(&Bytes::of(|byte| (first..=last).contains(&byte)));
    }

    /// Writes the set as a class of the linear engine.
    pub(super) fn write(&self, negated: bool) -> String {
        let mut class = String::from(if negated { "[^" } else { "[" });
        let mut byte = 0;
        while byte < self.0.len() {
            let length = self.0[byte..].iter().take_while(|&&is_in| is_in).count();
            if length > 0 {
                let _ = write!(class, "\\x{byte:02X}-\\x{:02X}", byte + length - 1);
            }
            byte += length.max(1);
        }
        class.push(']');
        class
    }
}

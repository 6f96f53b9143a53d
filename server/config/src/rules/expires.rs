//! The settings of `ExpiresActive` and the like: how long the responses of a location stay fresh.

use std::collections::BTreeMap;
use std::time::Duration;

/// `ExpiresActive On` and its settings.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Expires {
    pub active: bool,
    pub default: Option<Expiry>,
    /// The expiry by media type in lower case. `text/*` means all types of text.
    pub by_type: BTreeMap<String, Expiry>,
}

#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Expiry {
    pub from: Base,
    pub after: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Base {
    Access,
    Modification,
}

impl Expires {
    /// Returns the expiry of a media type. Parameters of the type are ignored.
    pub fn of(&self, media_type: &[u8]) -> Option<Expiry> {
        let media_type = String::from_utf8_lossy(media_type).to_ascii_lowercase();
        let bare = media_type.split(';').next().unwrap_or_default().trim();
        let kind = bare.split('/').next().unwrap_or_default();
        let exact = self.by_type.get(bare);
        let of_kind = || self.by_type.get(&format!("{kind}/*"));
        exact.or_else(of_kind).copied().or(self.default)
    }
}

impl Expiry {
    /// Parses `A3600`, `M3600`, or `access plus 1 month 2 days`, as check_code() of mod_expires.c
    /// does: only the first letters of a word count (`mon`, `min`). A text that begins with a
    /// capital `A` or `M` has its number behind this letter, and 0 without a number.
    pub(crate) fn parse(words: &[&str]) -> Option<Expiry> {
        let all = words.join(" ");
        if let Some((from, rest)) = numbered(&all) {
            let after = at_most_a_century(leading_number(rest));
            return Some(Expiry { from, after });
        }
        let all = all.to_ascii_lowercase();
        let mut words = all.split_whitespace().peekable();
        let from = match words.next()?.as_bytes() {
            [b'a' | b'n', ..] => Base::Access,
            [b'm', ..] => Base::Modification,
            _ => return None,
        };
        if words.peek().is_some_and(|word| word.starts_with('p')) {
            words.next();
        }
        let mut seconds: u64 = 0;
        while let Some(number) = words.next() {
            if !number.starts_with(|first: char| first.is_ascii_digit()) {
                return None;
            }
            let length = match words.next()?.as_bytes() {
                [b'y', ..] => 31_536_000,
                [b'm', b'o', ..] => 2_592_000,
                [b'w', ..] => 604_800,
                [b'd', ..] => 86_400,
                [b'h', ..] => 3_600,
                [b'm', b'i', ..] => 60,
                [b's', ..] => 1,
                _ => return None,
            };
            seconds = seconds.checked_add(leading_number(number).checked_mul(length)?)?;
        }
        let after = at_most_a_century(seconds);
        Some(Expiry { from, after })
    }
}

/// Returns the base of a text such as `A3600`, and the rest of the text. Unlike in Apache, the
/// letter may be small before a digit.
fn numbered(text: &str) -> Option<(Base, &str)> {
    let (from, rest) = match text.as_bytes() {
        [b'A' | b'a', ..] => (Base::Access, &text[1..]),
        [b'M' | b'm', ..] => (Base::Modification, &text[1..]),
        _ => return None,
    };
    let is_capital = text.starts_with(|first: char| first.is_ascii_uppercase());
    let has_number = rest.starts_with(|first: char| first.is_ascii_digit());
    (is_capital || has_number).then_some((from, rest))
}

/// Returns the number at the beginning of a text, as atoi(3) does. A number that is too large is
/// the largest.
fn leading_number(text: &str) -> u64 {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let digits = &text[..end.unwrap_or(text.len())];
    let is_large = !digits.is_empty();
    digits
        .parse()
        .unwrap_or(if is_large { u64::MAX } else { 0 })
}

/// Returns a time that can be added to any date.
fn at_most_a_century(seconds: u64) -> Duration {
    Duration::from_secs(seconds.min(100 * 31_536_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_an_expiry_are_parsed() {
        let of = |text: &str| {
            let words: Vec<&str> = text.split(' ').collect();
            Expiry::parse(&words).map(|expiry| (expiry.from, expiry.after.as_secs()))
        };
        assert_eq!(of("A3600"), Some((Base::Access, 3600)));
        assert_eq!(
            of("access plus 1 month 2 days"),
            Some((Base::Access, 2_764_800))
        );
        assert_eq!(
            of("m18446744073709551615").map(|it| it.1),
            Some(3_153_600_000)
        );
        // Apache takes an expiry without a number for one of no time.
        assert_eq!(of("access plus"), Some((Base::Access, 0)));
        assert_eq!(of("modification 1 hour"), Some((Base::Modification, 3600)));
        // Only the first letters count.
        assert_eq!(of("acc PLUS 3 mins 1 mon"), Some((Base::Access, 2_592_180)));
        assert_eq!(of("now plus 10x hrs,"), Some((Base::Access, 36_000)));
        // A capital letter is followed by a number, as in `A3600`.
        for none in ["Access plus 1 day", "A", "A-1", "ACCESS"] {
            assert_eq!(of(none), Some((Base::Access, 0)), "{none}");
        }
        assert_eq!(of("M10x"), Some((Base::Modification, 10)));
        for wrong in [
            "",
            "soon",
            "access plus 1",
            "access plus 1 fortnight",
            "access plus one day",
            "access plus -1 day",
            "access plus 1 m",
            "é",
            "é1",
        ] {
            assert!(of(wrong).is_none(), "{wrong}");
        }
    }
}

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
    /// Parses `A3600`, `M3600`, or `access plus 1 month 2 days`.
    pub(crate) fn parse(words: &[&str]) -> Option<Expiry> {
        let all = words.join(" ");
        let mut words = all.split_whitespace().peekable();
        let first = words.next()?.to_ascii_lowercase();
        let short = |letter, from| Some((from, first.strip_prefix(letter)?.parse().ok()?));
        let short = short('a', Base::Access).or_else(|| short('m', Base::Modification));
        if let Some((from, seconds)) = short {
            let after = at_most_a_century(seconds);
            return words.next().is_none().then_some(Expiry { from, after });
        }
        let from = match first.as_str() {
            "access" | "now" => Base::Access,
            "modification" => Base::Modification,
            _ => return None,
        };
        if words.peek() == Some(&"plus") {
            words.next();
        }
        let mut seconds: u64 = 0;
        while let Some(number) = words.next() {
            let number: u64 = number.parse().ok()?;
            let unit = words.next()?.to_ascii_lowercase();
            let length = match unit.trim_end_matches('s') {
                "year" => 31_536_000,
                "month" => 2_592_000,
                "week" => 604_800,
                "day" => 86_400,
                "hour" => 3_600,
                "minute" => 60,
                "second" => 1,
                _ => return None,
            };
            seconds = seconds.checked_add(number.checked_mul(length)?)?;
        }
        let after = at_most_a_century(seconds);
        Some(Expiry { from, after })
    }
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
        for wrong in [
            "",
            "soon",
            "access plus 1",
            "access plus 1 fortnight",
            "A1 x",
            "é",
            "é1",
            "A",
            "aé",
        ] {
            assert!(of(wrong).is_none(), "{wrong}");
        }
    }
}

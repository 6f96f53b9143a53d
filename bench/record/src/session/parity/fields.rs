//! Compares the header fields of two answers, except the fields of the connection and of cookies.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use hyper::header::{HeaderMap, HeaderName, CONTENT_LENGTH, DATE, SET_COOKIE};

use super::difference::Findings;
use super::mask::Masks;
use super::Settings;
use crate::session::headers::{strip_hop_by_hop, value_text};
use crate::session::replay::answer::Answer;

/// The most that two times may differ and still count as equal.
const SAME: Duration = Duration::from_secs(2);

pub fn compare(
    old: &Answer,
    new: &Answer,
    body_differs: bool,
    masks: &Masks,
    settings: &Settings,
    findings: &mut Findings,
) {
    framing(old, new, body_differs, findings);
    let mut sides = [old.headers.clone(), new.headers.clone()];
    for side in &mut sides {
        strip_hop_by_hop(side);
        side.remove(SET_COOKIE);
        side.remove(CONTENT_LENGTH);
    }
    let [a, b] = &sides;
    let dates = sides.each_ref().map(|side| values(side, &DATE));
    let names: BTreeSet<&str> = a.keys().chain(b.keys()).map(HeaderName::as_str).collect();
    for name in names {
        let Ok(field) = HeaderName::try_from(name) else {
            continue;
        };
        let (old, new) = (values(a, &field), values(b, &field));
        if old == new {
            continue;
        }
        let is_ignored = settings
            .ignored_headers
            .iter()
            .any(|ignored| ignored.eq_ignore_ascii_case(name));
        let (Some(from_old), Some(from_new)) = (&old, &new) else {
            if is_ignored {
                findings.hide(&format!("header {name}"), &shown(&old), &shown(&new))
            } else {
                findings.differ("header", Some(name), old, new)
            }
            continue;
        };
        let dates = [dates[0].as_deref(), dates[1].as_deref()];
        if is_ignored || varies(name, [from_old, from_new], dates, settings) {
            findings.hide(&format!("header {name}"), from_old, from_new);
        } else if is_exact(name) {
            findings.differ("header", Some(name), old, new);
        } else if let Some([a, b]) = masks.compare(from_old, from_new, &mut findings.hidden) {
            findings.differ("header", Some(name), Some(a), Some(b));
        }
    }
}

/// Returns whether the values of a field may differ. The field must still stand on both sides.
fn varies(name: &str, values: [&str; 2], dates: [Option<&str>; 2], settings: &Settings) -> bool {
    match name {
        "date" | "server" => true,
        "etag" | "last-modified" => settings.ignore_validators,
        "expires" => same_moment(values, dates),
        "vary" | "allow" => same_words(values),
        _ => false,
    }
}

/// Returns whether both lists have the same words, in any order. Upper and lower case count the
/// same.
fn same_words(values: [&str; 2]) -> bool {
    let [a, b] = values.map(|value| {
        let words = value
            .split(',')
            .map(|word| word.trim().to_ascii_lowercase());
        words
            .filter(|word| !word.is_empty())
            .collect::<BTreeSet<_>>()
    });
    a == b
}

/// Returns whether the dates of a field must be equal and are therefore not masked.
fn is_exact(name: &str) -> bool {
    ["etag", "last-modified", "expires"].contains(&name)
}

/// Returns whether each date is equally far from the `Date` field of its own answer.
pub fn same_moment(values: [&str; 2], dates: [Option<&str>; 2]) -> bool {
    let parse = |text: &str| httpdate::parse_http_date(&text.replace('-', " ")).ok();
    let away = |place: usize| -> Option<(bool, Duration)> {
        let (value, date) = (parse(values[place])?, parse(dates[place]?)?);
        Some(distance(value, date))
    };
    let (Some((is_past, a)), Some((was_past, b))) = (away(0), away(1)) else {
        return false;
    };
    if is_past == was_past {
        a.max(b) - a.min(b) <= SAME
    } else {
        a + b <= SAME
    }
}

fn distance(value: SystemTime, date: SystemTime) -> (bool, Duration) {
    match value.duration_since(date) {
        Ok(ahead) => (false, ahead),
        Err(behind) => (true, behind.duration()),
    }
}

/// Compares `Content-Length`. A length that equals the length of its own body is no further
/// difference. Without the field the body was chunked or ended with the connection. These two forms
/// are not compared.
fn framing(old: &Answer, new: &Answer, body_differs: bool, findings: &mut Findings) {
    let sides = [old, new].map(|answer| {
        let length = values(&answer.headers, &CONTENT_LENGTH);
        let own = answer.body.len().to_string();
        let is_own = length.as_ref().is_none_or(|length| *length == own);
        (length, is_own)
    });
    let [(a, a_is_own), (b, b_is_own)] = sides;
    if a == b {
        return;
    }
    // If both bodies are empty, the answers may belong to HEAD. Then only the lengths can be
    // compared.
    let is_empty = old.body.is_empty() && new.body.is_empty() && a.is_some() && b.is_some();
    if a_is_own && b_is_own && !body_differs && !is_empty {
        findings.hide("header content-length", &shown(&a), &shown(&b))
    } else {
        findings.differ("header", Some("content-length"), a, b)
    }
}

fn values(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let all: Vec<String> = headers.get_all(name).iter().map(value_text).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

fn shown(value: &Option<String>) -> String {
    value.clone().unwrap_or_else(|| "none".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_names_are_equal_in_any_order() {
        assert!(same_words([
            "Accept-Encoding, X-In",
            "x-in,Accept-Encoding"
        ]));
        assert!(!same_words(["Accept-Encoding, X-In", "Accept-Encoding"]));
    }

    #[test]
    fn an_expiry_date_is_compared_relative_to_its_own_servers_date() {
        let at = |minute: &str| format!("Sun, 22 Nov 2026 01:{minute}:00 GMT");
        let dates = [at("10"), at("20")];
        let dates = [Some(dates[0].as_str()), Some(dates[1].as_str())];
        assert!(same_moment([&at("15"), &at("25")], dates));
        assert!(same_moment(
            [&at("05"), "Sun, 22-Nov-2026 01:15:01 GMT"],
            dates
        ));
        assert!(!same_moment([&at("15"), &at("15")], dates));
        assert!(!same_moment(["-1", "-1 "], dates));
    }
}

//! Writes the cookie that a rule's flag `[CO=]` sets in the response.

use std::time::{Duration, SystemTime};

/// The longest lifetime of a cookie: a hundred years. Longer lifetimes are cut.
const MOST_MINUTES: u64 = 100 * 366 * 24 * 60;

/// Appends the Set-Cookie line of
/// `NAME:VALUE:DOMAIN[:LIFETIME[:PATH[:SECURE[:HTTPONLY[:SAMESITE]]]]]`. If the flag's text begins
/// with `;`, the separator is `;` instead of `:`.
pub(super) fn push(text: &[u8], lines: &mut Vec<u8>) {
    let (mark, text) = match text.first() {
        Some(b';') => (b';', &text[1..]),
        _ => (b':', text),
    };
    let mut parts = text.split(|byte| *byte == mark);
    let (Some(name), Some(value)) = (parts.next(), parts.next()) else {
        return;
    };
    let mut cookie = [b"Set-Cookie: ", name, b"=", value].concat();
    let (domain, lifetime, path) = (parts.next(), parts.next(), parts.next());
    let mut attribute = |start: &str, value: Option<&[u8]>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            cookie.extend_from_slice(start.as_bytes());
            cookie.extend_from_slice(value);
        }
    };
    attribute(
        "; path=",
        Some(path.filter(|path| !path.is_empty()).unwrap_or(b"/")),
    );
    attribute("; domain=", domain.filter(|domain| *domain != b"-"));
    let minutes = lifetime.and_then(|text| std::str::from_utf8(text).ok()?.parse::<u64>().ok());
    if let Some(minutes) = minutes.filter(|minutes| *minutes > 0) {
        let life = Duration::from_secs(minutes.min(MOST_MINUTES) * 60);
        let end = httpdate::fmt_http_date(SystemTime::now() + life);
        attribute("; expires=", Some(end.as_bytes()));
    }
    let is_on = |text: Option<&[u8]>, word: &str| {
        text.is_some_and(|text| {
            text.eq_ignore_ascii_case(word.as_bytes()) || text == b"1" || text == b"true"
        })
    };
    let (secure, http_only, same_site) = (parts.next(), parts.next(), parts.next());
    if is_on(secure, "secure") {
        attribute("; ", Some(b"secure"));
    }
    if is_on(http_only, "HttpOnly") {
        attribute("; ", Some(b"HttpOnly"));
    }
    attribute("; SameSite=", same_site);
    cookie.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
    lines.extend_from_slice(&cookie);
    lines.extend_from_slice(b"\r\n");
}

//! Handles header fields for the proxy: removes the fields that a proxy must not forward, rewrites
//! the fields that name a server, and turns fields into their form in an archive.

use hyper::header::{HeaderMap, HeaderName, HeaderValue, CONNECTION, COOKIE, SET_COOKIE};

use url::{Position, Url};

use super::har::{Cookie, Pair};
use super::Target;

/// The fields that belong to a single connection (RFC 9110 section 7.6.1).
const HOP_BY_HOP: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Removes hop-by-hop fields and the fields that `Connection` names.
pub fn strip_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}

/// Replaces the origin `from` by the origin `to` in the field `name`, which holds a URL.
pub fn move_origin(headers: &mut HeaderMap, name: HeaderName, from: &Target, to: &Target) {
    let moved = headers
        .get(&name)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| moved_url(text, from, to))
        .and_then(|text| HeaderValue::from_str(&text).ok());
    if let Some(moved) = moved {
        headers.insert(name, moved);
    }
}

fn moved_url(text: &str, from: &Target, to: &Target) -> Option<String> {
    let url = Url::parse(text).ok()?;
    if Target::of(&url)? != *from {
        return None;
    }
    let rest = match &url[Position::BeforePath..] {
        // The field `Origin` has no path, not even `/`.
        "/" if !text.ends_with('/') => "",
        rest => rest,
    };
    Some(format!("{}{rest}", to.origin()))
}

/// Returns a `Set-Cookie` value that the client accepts from the proxy. `Domain` is removed,
/// because it names the target. `Secure` is removed, because the client reaches the proxy without
/// TLS.
pub fn local_cookie(value: &HeaderValue) -> HeaderValue {
    let Ok(text) = value.to_str() else {
        return value.clone();
    };
    let kept: Vec<&str> = text
        .split(';')
        .enumerate()
        .filter(|(place, part)| {
            let name = part.split('=').next().unwrap_or_default().trim();
            *place == 0 || !["domain", "secure"].contains(&name.to_ascii_lowercase().as_str())
        })
        .map(|(_, part)| part)
        .collect();
    HeaderValue::from_str(&kept.join(";")).unwrap_or_else(|_| value.clone())
}

/// Returns the value as text. Bytes outside ASCII are read as Latin-1, so nothing is lost.
pub fn value_text(value: &HeaderValue) -> String {
    match value.to_str() {
        Ok(text) => text.to_owned(),
        Err(_) => value
            .as_bytes()
            .iter()
            .map(|byte| char::from(*byte))
            .collect(),
    }
}

pub fn pairs(headers: &HeaderMap) -> Vec<Pair> {
    headers
        .iter()
        .map(|(name, value)| Pair {
            name: name.to_string(),
            value: value_text(value),
        })
        .collect()
}

/// Returns the number of bytes of a head in HTTP/1.1: each field with `: ` and a line end.
pub fn size(first_line: usize, headers: &HeaderMap) -> i64 {
    let fields: usize = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();
    (first_line + 2 + fields + 2) as i64
}

pub fn request_cookies(headers: &HeaderMap) -> Vec<Cookie> {
    headers
        .get_all(COOKIE)
        .iter()
        .map(value_text)
        .flat_map(|line| line.split(';').map(named_value).collect::<Vec<_>>())
        .filter(|cookie| !cookie.name.is_empty())
        .collect()
}

pub fn response_cookies(headers: &HeaderMap) -> Vec<Cookie> {
    headers
        .get_all(SET_COOKIE)
        .iter()
        .map(|value| set_cookie(&value_text(value)))
        .collect()
}

fn named_value(part: &str) -> Cookie {
    let (name, value) = part.split_once('=').unwrap_or((part, ""));
    Cookie {
        name: name.trim().to_owned(),
        value: value.trim().to_owned(),
        ..Cookie::default()
    }
}

fn set_cookie(line: &str) -> Cookie {
    let mut parts = line.split(';');
    let mut cookie = named_value(parts.next().unwrap_or_default());
    cookie.http_only = Some(false);
    cookie.secure = Some(false);
    for part in parts {
        let attribute = named_value(part);
        let value = Some(attribute.value);
        match attribute.name.to_ascii_lowercase().as_str() {
            "path" => cookie.path = value,
            "domain" => cookie.domain = value,
            "expires" => cookie.expires = value.as_deref().and_then(iso_8601),
            "httponly" => cookie.http_only = Some(true),
            "secure" => cookie.secure = Some(true),
            _ => {}
        }
    }
    cookie
}

/// Returns an HTTP date as ISO 8601, which HAR requires.
fn iso_8601(http_date: &str) -> Option<String> {
    let instant = httpdate::parse_http_date(http_date).ok()?;
    let since = instant.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(crate::wall_clock::text(
        u64::try_from(since.as_micros()).ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_lose_the_attributes_that_bind_them_to_the_target() {
        let value = HeaderValue::from_static("a=b; Path=/; Domain=example.org; Secure; HttpOnly");
        assert_eq!(local_cookie(&value), "a=b; Path=/; HttpOnly");
    }

    #[test]
    fn only_urls_of_the_replaced_origin_change() {
        let from: Target = "http://a.test:80".parse().expect("a target");
        let to: Target = "http://b.test:81".parse().expect("a target");
        for (before, after) in [
            ("http://a.test:80/x?y", Some("http://b.test:81/x?y")),
            ("http://a.test/", Some("http://b.test:81/")),
            ("http://a.test", Some("http://b.test:81")),
            ("http://a.test:8080/x", None),
            ("https://a.test/x", None),
            ("/x", None),
        ] {
            assert_eq!(moved_url(before, &from, &to).as_deref(), after, "{before}");
        }
    }

    #[test]
    fn fields_that_connection_names_are_removed() {
        let mut headers = HeaderMap::new();
        headers.insert("connection", HeaderValue::from_static("close, X-Hop"));
        headers.insert("x-hop", HeaderValue::from_static("1"));
        headers.insert("x-end", HeaderValue::from_static("1"));
        strip_hop_by_hop(&mut headers);
        assert_eq!(headers.len(), 1);
    }

    #[test]
    fn a_set_cookie_field_becomes_a_cookie_of_the_archive() {
        let cookie = set_cookie("id=7; Path=/p; Expires=Thu, 01 Jan 2026 00:00:00 GMT; Secure");
        assert_eq!((cookie.name.as_str(), cookie.value.as_str()), ("id", "7"));
        assert_eq!(cookie.path.as_deref(), Some("/p"));
        assert_eq!(cookie.expires.as_deref(), Some("2026-01-01T00:00:00Z"));
        assert_eq!((cookie.secure, cookie.http_only), (Some(true), Some(false)));
    }
}

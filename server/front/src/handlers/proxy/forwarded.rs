//! Writes the fields that tell a back end about the client and earlier proxies: `X-Forwarded-*` and
//! `Forwarded` (RFC 7239).

use crate::handlers::perl::scheme;
use crate::request::{Fields, Request};
use mehari_config::{Forwarded, ProxySettings};
use mehari_http::token::is_token_byte;

const NAMES: [&str; 5] = [
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-server",
    "forwarded",
];

/// Returns whether the client's field of this name is not forwarded as it is. Either the front
/// writes the field itself, or clients may not send the field.
pub fn is_ours(name: &[u8], settings: &ProxySettings) -> bool {
    let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    match settings.forwarded {
        Forwarded::Replace => NAMES.iter().any(|&known| is(known)),
        Forwarded::Append => {
            (settings.add_headers && NAMES[..4].iter().any(|&known| is(known)))
                || (settings.add_forwarded && is(NAMES[4]))
        }
    }
}

/// Appends the fields. `said`: whether the client sent at least one of the fields.
pub fn push(request: &Request<'_>, settings: &ProxySettings, said: bool, into: &mut Vec<u8>) {
    let kept = if said && settings.forwarded == Forwarded::Append {
        request.fields
    } else {
        Fields::NONE
    };
    let scheme = scheme(request);
    let client = request.peer.remote_addr.as_bytes();
    if settings.add_headers {
        let ours: [(&str, &[u8]); 4] = [
            ("X-Forwarded-For", client),
            ("X-Forwarded-Host", request.host),
            ("X-Forwarded-Proto", scheme),
            ("X-Forwarded-Server", request.server()),
        ];
        for (name, value) in ours {
            push_behind(kept, name, value, into);
        }
    }
    if settings.add_forwarded {
        let element = element(client, request.host, scheme);
        push_behind(kept, "Forwarded", &element, into);
    }
}

/// Appends a field line: the kept values of the same name, then `value`.
fn push_behind(kept: Fields<'_>, name: &str, value: &[u8], into: &mut Vec<u8>) {
    into.extend_from_slice(name.as_bytes());
    into.extend_from_slice(b": ");
    for (known, value) in kept {
        if known.eq_ignore_ascii_case(name.as_bytes()) {
            into.extend_from_slice(value);
            into.extend_from_slice(b", ");
        }
    }
    into.extend_from_slice(value);
    into.extend_from_slice(b"\r\n");
}

/// Returns an element of `Forwarded`, such as `for=192.0.2.1;host="example.org:8080";proto=https`.
fn element(client: &[u8], host: &[u8], scheme: &[u8]) -> Vec<u8> {
    let mut element = b"for=".to_vec();
    if client.contains(&b':') {
        push_value(&[b"[", client, b"]"].concat(), &mut element)
    } else {
        push_value(client, &mut element)
    }
    if !host.is_empty() {
        element.extend_from_slice(b";host=");
        push_value(host, &mut element);
    }
    element.extend_from_slice(b";proto=");
    element.extend_from_slice(scheme);
    element
}

/// Appends a value. A value that is not a token is quoted (RFC 7239 section 4).
fn push_value(value: &[u8], into: &mut Vec<u8>) {
    if value.iter().all(|&byte| is_token_byte(byte)) {
        return into.extend_from_slice(value);
    }
    into.push(b'"');
    for &byte in value {
        if matches!(byte, b'"' | b'\\') {
            into.push(b'\\');
        }
        into.push(byte);
    }
    into.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_quotes_what_is_no_token() {
        let cases: [(&str, &str, &str); 4] = [
            (
                "192.0.2.1",
                "example.org",
                "for=192.0.2.1;host=example.org;proto=http",
            ),
            (
                "192.0.2.1",
                "example.org:80",
                "for=192.0.2.1;host=\"example.org:80\";proto=http",
            ),
            (
                "2001:db8::1",
                "[::1]",
                "for=\"[2001:db8::1]\";host=\"[::1]\";proto=http",
            ),
            ("192.0.2.1", "", "for=192.0.2.1;proto=http"),
        ];
        for (client, host, expected) in cases {
            let element = element(client.as_bytes(), host.as_bytes(), b"http");
            assert_eq!(element, expected.as_bytes());
        }
    }
}

//! The claims of a request: all fields that are not known to be harmless. By fields of many names,
//! frameworks let a proxy, and so any client, change the host, path, scheme or method that a
//! program sees, and no response has Vary for these fields. Requests with equal claims share pages,
//! so a page made from an invented claim reaches only clients that send the same claim.

use crate::request::Request;

/// Names of fields that change no response without Vary, in lower case and sorted: those of RFC
/// 9110, 9111 and the Fetch standard, those with which browsers describe themselves, and those that
/// identify the client or the request.
const HARMLESS: [&str; 56] = [
    "a-im",
    "alt-used",
    "authorization",
    "baggage",
    "cache-control",
    "cdn-loop",
    "connection",
    "content-length",
    "cookie",
    "date",
    "device-memory",
    "dnt",
    "downlink",
    "dpr",
    "early-data",
    "ect",
    "expect",
    "from",
    "host",
    "http2-settings",
    "keep-alive",
    "last-event-id",
    "max-forwards",
    "origin",
    "pragma",
    "prefer",
    "priority",
    "proxy-authorization",
    "purpose",
    "range",
    "referer",
    "rtt",
    "save-data",
    "te",
    "traceparent",
    "tracestate",
    "trailer",
    "transfer-encoding",
    "true-client-ip",
    "upgrade",
    "upgrade-insecure-requests",
    "user-agent",
    "via",
    "viewport-width",
    "width",
    "x-amzn-trace-id",
    "x-client-ip",
    "x-cloud-trace-context",
    "x-correlation-id",
    "x-forwarded-for",
    "x-moz",
    "x-purpose",
    "x-real-ip",
    "x-request-id",
    "x-request-start",
    "x-trace-id",
];
/// Beginnings of further harmless names.
const HARMLESS_STARTS: [&str; 6] = ["accept", "if-", "sec-", "cf-", "x-b3-", "x-queue-"];

/// The mark at which the claims of a key begin. No earlier part of a key contains it.
pub const BEGIN: &[u8] = b"\0\x01";

/// The request's claims. Most requests have none.
pub fn of(request: &Request<'_>) -> Vec<u8> {
    let mut all = Vec::new();
    for (name, value) in request.fields.iter().filter(|(name, _)| is_claim(name)) {
        all.extend_from_slice(BEGIN);
        all.extend_from_slice(&name.to_ascii_lowercase());
        all.push(b'=');
        if name.eq_ignore_ascii_case(b"forwarded") {
            push_elements(value, &mut all)
        } else {
            all.extend_from_slice(value)
        }
    }
    all
}

fn is_claim(name: &[u8]) -> bool {
    // Longer names are not in the list. Names with `_` reach no program.
    let mut lower = [0; 40];
    let Some(lower) = lower.get_mut(..name.len()) else {
        return true;
    };
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    let known = HARMLESS.binary_search_by(|known| known.as_bytes().cmp(lower));
    let starts = |start: &&str| lower.starts_with(start.as_bytes());
    known.is_err() && !HARMLESS_STARTS.iter().any(starts) && !lower.contains(&b'_')
}

/// The elements of RFC 7239's Forwarded, except the client and the receiver.
fn push_elements(value: &[u8], into: &mut Vec<u8>) {
    let pairs = value
        .split(|byte| b",;".contains(byte))
        .map(<[u8]>::trim_ascii);
    for pair in pairs {
        let about_client = pair
            .get(..4)
            .is_some_and(|start| start.eq_ignore_ascii_case(b"for="))
            || pair
                .get(..3)
                .is_some_and(|start| start.eq_ignore_ascii_case(b"by="));
        if !about_client {
            into.extend_from_slice(pair);
            into.push(b';');
        }
    }
}

/// Whether the client's Connection removes fields before the program (`Connection:
/// Accept-Language`). The response then depends on fields that the program has not seen.
pub fn hides_fields(request: &Request<'_>) -> bool {
    const OPTIONS: [&str; 6] = ["", "close", "keep-alive", "upgrade", "te", "http2-settings"];
    let mut options = request
        .fields
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case(b"connection"))
        .flat_map(|(_, value)| value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii));
    options.any(|option| {
        let is = |known: &str| option.eq_ignore_ascii_case(known.as_bytes());
        !OPTIONS.into_iter().any(is)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_of_host_path_and_method_are_told_and_clients_are_not() {
        let rows = [
            ("X-Forwarded-Host", true),
            ("x-forwarded-script-name", true),
            ("X-HTTP-Method-Override", true),
            ("X-Original-URL", true),
            ("Forwarded", true),
            ("X-Forwarded-For", false),
            ("X-Forwarded", true),
            ("X-Real-IP", false),
            ("X-Original-URI", true),
            ("X-Scheme", true),
            ("X-Proto", true),
            ("X-HTTPS", true),
            ("X-Real-Host", true),
            ("X-Request-Uri", true),
            ("X-Envoy-Original-Path", true),
            ("Request-Base", true),
            ("Base-Url", true),
            (
                "X-Nobody-Knows-What-This-Field-May-Change-In-A-Program",
                true,
            ),
            ("X-Requested-With", true),
            ("X_Forwarded_Host", false),
            ("Accept-Language", false),
            ("Sec-Fetch-Mode", false),
            ("User-Agent", false),
            ("Upgrade-Insecure-Requests", false),
            ("From", false),
            ("Accept", false),
        ];
        for (name, expected) in rows {
            assert_eq!(is_claim(name.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn harmless_names_can_be_searched_for() {
        assert!(HARMLESS.is_sorted());
        for name in HARMLESS {
            assert!(!is_claim(name.to_ascii_uppercase().as_bytes()), "{name}");
        }
    }

    #[test]
    fn elements_without_who_came() {
        let mut told = Vec::new();
        push_elements(
            b"For=1.2.3.4;host=a;proto=https, by=x, for=\"[::1]\"",
            &mut told,
        );
        assert_eq!(told, b"host=a;proto=https;");
    }
}

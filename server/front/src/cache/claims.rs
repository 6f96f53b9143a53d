//! Finds the claims of a request: all fields that are not known to be harmless.
//!
//! Frameworks read the host, path, scheme or method from fields of many names, which a proxy should
//! set. Any client can send these fields, and no response has Vary for them. Only requests with
//! equal claims share pages. A page made from a false claim therefore reaches only clients that
//! send the same claim.

use crate::request::Request;

/// The names of harmless fields, in lower case and sorted. A response that depends on such a field
/// has Vary. The names come from RFC 9110, RFC 9111 and the Fetch standard. Others describe the
/// browser, or identify the client or the request.
const HARMLESS: [&str; 97] = [
    "a-im",
    "accept",
    "accept-charset",
    "accept-datetime",
    "accept-encoding",
    "accept-features",
    "accept-language",
    "accept-signature",
    "alt-used",
    "authorization",
    "baggage",
    "cache-control",
    "cdn-loop",
    "cf-bot-score",
    "cf-connecting-ip",
    "cf-connecting-ipv6",
    "cf-ew-via",
    "cf-ipcity",
    "cf-ipcontinent",
    "cf-ipcountry",
    "cf-iplatitude",
    "cf-iplongitude",
    "cf-ja3-hash",
    "cf-ja4",
    "cf-metro-code",
    "cf-postal-code",
    "cf-pseudo-ipv4",
    "cf-ray",
    "cf-region",
    "cf-region-code",
    "cf-request-id",
    "cf-timezone",
    "cf-verified-bot",
    "cf-warp-tag-id",
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
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-schedule-tag-match",
    "if-unmodified-since",
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
    "x-b3-flags",
    "x-b3-parentspanid",
    "x-b3-sampled",
    "x-b3-spanid",
    "x-b3-traceid",
    "x-client-ip",
    "x-cloud-trace-context",
    "x-correlation-id",
    "x-forwarded-for",
    "x-moz",
    "x-purpose",
    "x-queue-start",
    "x-queue-time",
    "x-real-ip",
    "x-request-id",
    "x-request-start",
    "x-trace-id",
];
/// The beginning of the names that the Fetch standard reserves for browsers. Other groups of names
/// have no beginning of their own here, because new names of a group may be claims.
const OF_BROWSERS: &str = "sec-";

/// The bytes that precede the claims in a key. No earlier part of a key contains these bytes.
pub const BEGIN: &[u8] = b"\0\x01";

/// Returns the request's claims. Most requests have no claims.
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
    // A longer name is not in the list, so it is a claim. Names with `_` reach no program.
    let mut lower = [0; 40];
    let Some(lower) = lower.get_mut(..name.len()) else {
        return true;
    };
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    let known = HARMLESS.binary_search_by(|known| known.as_bytes().cmp(lower));
    known.is_err() && !lower.starts_with(OF_BROWSERS.as_bytes()) && !lower.contains(&b'_')
}

/// Appends the elements of RFC 7239's Forwarded, except the client and the receiver.
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

/// Returns whether the client's Connection field names other fields (`Connection:
/// Accept-Language`). Back ends do not get such fields, so their responses must not be stored under
/// the values of these fields.
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
            ("Accept-Host", true),
            ("If-None-Match", false),
            ("If-Host", true),
            ("CF-Visitor", true),
            ("CF-Connecting-IP", false),
            ("CF-Never-Heard-Of", true),
            ("X-Queue-Start", false),
            ("X-Queue-Host", true),
            ("X-B3-TraceId", false),
            ("X-B3-Path", true),
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

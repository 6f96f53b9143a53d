//! What a request says of itself beside its target: fields by which frameworks let a proxy, and so anybody, change the host, the
//! path or the method that a program sees. No response says that it varies by them, so each claim has pages of its own: what is
//! made for somebody's invention is given to nobody else.

use crate::request::Request;

/// Beside all that begin with [`FORWARDED`].
const NAMES: [&str; 15] = [
    "forwarded",
    "front-end-https",
    "x-forwarded",
    "x-host",
    "x-http-host-override",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-host",
    "x-original-url",
    "x-request-base",
    "x-rewrite-url",
    "x-script-name",
    "x-traversal-path",
    "x-url-scheme",
];
const FORWARDED: &[u8] = b"x-forwarded-";
/// Who the client is: no page may depend on that and be for all.
const CLIENT: &str = "x-forwarded-for";

/// How a claim begins in a key; nothing before it there does.
pub const BEGIN: &[u8] = b"\0\x01";

/// Empty for most requests.
pub fn of(request: &Request<'_>) -> Vec<u8> {
    let mut all = Vec::new();
    for (name, value) in request.fields.iter().filter(|(name, _)| is_claim(name)) {
        all.extend_from_slice(BEGIN);
        all.extend_from_slice(&name.to_ascii_lowercase());
        all.push(b'=');
        match name.eq_ignore_ascii_case(b"forwarded") {
            true => push_elements(value, &mut all),
            false => all.extend_from_slice(value),
        }
    }
    all
}

fn is_claim(name: &[u8]) -> bool {
    let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    let is_forwarded = || {
        name.len() > FORWARDED.len()
            && name[..FORWARDED.len()].eq_ignore_ascii_case(FORWARDED)
            && !is(CLIENT)
    };
    matches!(name.first(), Some(b'x' | b'X' | b'f' | b'F'))
        && (is_forwarded() || NAMES.into_iter().any(is))
}

/// What RFC 7239 has elements say, but for who came and who took them in.
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

/// Whether the client has a hop before the program take fields away (`Connection: Accept-Language`): a response then varies by
/// what its program has not seen.
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
            ("From", false),
            ("Accept", false),
        ];
        for (name, expected) in rows {
            assert_eq!(is_claim(name.as_bytes()), expected, "{name}");
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

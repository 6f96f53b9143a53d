//! What back ends are told of those before us: `X-Forwarded-*` and `Forwarded` (RFC 7239).

use crate::handler::perl::scheme;
use crate::request::Request;
use mehari_config::{Forwarded, ProxySettings};

const NAMES: [&str; 5] = [
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-server",
    "forwarded",
];

/// Whether the client's field of this name is not passed on as it is: it is written anew, or is
/// nothing a stranger may say.
pub fn is_ours(name: &[u8], settings: &ProxySettings) -> bool {
    let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    match settings.forwarded {
        Forwarded::Replace => NAMES.iter().any(|&known| is(known)),
        Forwarded::Append => settings.add_headers && NAMES[..4].iter().any(|&known| is(known)),
    }
}

/// Appends the fields.
pub fn push(request: &Request<'_>, settings: &ProxySettings, server: &[u8], into: &mut Vec<u8>) {
    if !settings.add_headers {
        return;
    }
    let scheme = scheme(request);
    let ours: [(&str, &[u8]); 4] = [
        ("X-Forwarded-For", request.peer.remote_addr.as_bytes()),
        ("X-Forwarded-Host", request.host),
        ("X-Forwarded-Proto", scheme),
        ("X-Forwarded-Server", server),
    ];
    for (name, value) in ours {
        into.extend_from_slice(name.as_bytes());
        into.extend_from_slice(b": ");
        if settings.forwarded == Forwarded::Append {
            let before = request.fields.iter();
            let before = before.filter(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()));
            for (_, value) in before {
                into.extend_from_slice(value);
                into.extend_from_slice(b", ");
            }
        }
        into.extend_from_slice(value);
        into.extend_from_slice(b"\r\n");
    }
}

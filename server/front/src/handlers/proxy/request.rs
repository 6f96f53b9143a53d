//! Makes the head of a request to an HTTP/1.1 back end. The first lines depend on the member, and
//! `opening` writes them. Fields about the client's connection are left out.

use super::forwarded;
use super::opening::{Opening, Parts};
use super::{via, RequestSummary};
use crate::handlers::perl::visible_fields;
use crate::handlers::protocol_switch;
use crate::request::{Field, Request};
use crate::routing::Route;
use mehari_net::buffer_pool::Buffer;
use mehari_observe::Decimal;
use mehari_pool::Body;

/// Returns the parts of the first lines, and all further lines up to the empty line.
pub fn head(
    request: &Request<'_>,
    route: &Route,
    path: &[u8],
    body: &Body<'_>,
    asked: &RequestSummary,
) -> (Opening, Buffer) {
    let upgrades = asked.upgrade;
    let settings = &route.settings.proxy;
    let mut lines = Buffer::with_room();
    let opening = Opening::begin(
        Parts {
            method: request.method,
            path,
            query: memchr::memchr(b'?', request.resource).map(|_| request.query()),
            host: (settings.preserve_host && !request.host.is_empty()).then_some(request.host),
            upgrades,
        },
        &mut lines,
    );
    let mut said = false;
    for (name, value) in visible_fields(request).into_iter().filter(goes_on) {
        if forwarded::is_ours(name, settings) {
            said = true;
            continue;
        }
        if via::is_ours(name, settings.via) {
            continue;
        }
        lines.extend_from_slice(name);
        lines.extend_from_slice(b": ");
        lines.extend_from_slice(value);
        lines.extend_from_slice(b"\r\n");
    }
    forwarded::push(request, settings, said, &mut lines);
    via::push_request(request, asked.via.as_deref(), &mut lines);
    if let (true, Some(protocols)) = (upgrades, protocol_switch::wanted(request)) {
        lines.extend_from_slice(b"Connection: Upgrade\r\nUpgrade: ");
        lines.extend_from_slice(protocols);
        lines.extend_from_slice(b"\r\n");
    }
    push_length(request.method, body, &mut lines);
    lines.extend_from_slice(b"\r\n");
    (opening, lines)
}

/// Returns whether the back end gets this field unchanged. The front writes Host and Content-Length
/// itself and has answered Expect. Proxy-Authorization was for a proxy before the front.
fn goes_on(field: &Field<'_>) -> bool {
    let is = |known: &str| field.0.eq_ignore_ascii_case(known.as_bytes());
    let ours = match field.0.len() {
        4 => is("host"),
        6 => is("expect"),
        14 => is("content-length"),
        19 => is("proxy-authorization"),
        _ => false,
    };
    !ours
}

/// Returns whether the options of a Connection field contain the name of this field.
pub fn names(options: &[u8], field: &[u8]) -> bool {
    let mut options = options.split(|&byte| byte == b',');
    options.any(|option| option.trim_ascii().eq_ignore_ascii_case(field))
}

/// Appends Content-Length. The length is known, because the body is complete.
fn push_length(method: &[u8], body: &Body<'_>, lines: &mut Vec<u8>) {
    let length = match body {
        Body::Memory(bytes) => bytes.len() as u64,
        Body::File(_, length) => *length,
        Body::Empty if matches!(method, b"POST" | b"PUT" | b"PATCH") => 0,
        Body::Empty => return,
    };
    lines.extend_from_slice(b"Content-Length: ");
    lines.extend_from_slice(Decimal::new(length).text());
    lines.extend_from_slice(b"\r\n");
}

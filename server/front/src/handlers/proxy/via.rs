//! Writes the field Via (RFC 9110 section 7.6.3) as `ProxyVia` says, with Apache's words.

use crate::request::{canonical, Request};
use crate::shared::Shared;
use mehari_config::{Settings, Via};

const VERSION: &str = concat!(" (Mehari/", env!("CARGO_PKG_VERSION"), ")");

/// Returns this server's element, such as `1.1 www.example.org:8080`. `None`: the server adds no
/// element. As in Apache, the version is that of the client's request.
pub fn element(shared: &Shared, request: &Request<'_>, settings: &Settings) -> Option<Box<[u8]>> {
    if matches!(settings.proxy.via, Via::Off | Via::Block) {
        return None;
    }
    let site = shared.site();
    let names = &site.host(request.virtual_host).names;
    let version = request.protocol.name();
    let version = version.strip_prefix(b"HTTP/").unwrap_or(version);
    let origin = canonical::origin(request, names);
    let start = memchr::memmem::find(&origin, b"://").map_or(0, |at| at + 3);
    let authority = &origin[start..];
    let name = canonical::name(request, names);
    let port = authority.get(name.len()..).unwrap_or_default();
    // The name that the client asked for would be the back end's affair.
    let own = names.server_name.as_ref();
    let own = own.map_or(&name[..], |own| own.as_bytes());
    let words: &[u8] = match settings.proxy.via {
        Via::Full => VERSION.as_bytes(),
        _ => b"",
    };
    Some([version, b" ", own, port, words].concat().into())
}

/// Tells whether the client's field of this name is not passed on as it is.
pub fn is_ours(name: &[u8], rule: Via) -> bool {
    rule != Via::Off && name.eq_ignore_ascii_case(b"via")
}

/// Appends the field to a request: the client's elements, then this server's.
pub fn push_request(request: &Request<'_>, element: Option<&[u8]>, lines: &mut Vec<u8>) {
    let Some(element) = element else { return };
    lines.extend_from_slice(b"Via: ");
    for (name, value) in request.fields {
        if name.eq_ignore_ascii_case(b"via") {
            lines.extend_from_slice(value);
            lines.extend_from_slice(b", ");
        }
    }
    lines.extend_from_slice(element);
    lines.extend_from_slice(b"\r\n");
}

/// Appends this server's element to the lines of a response.
pub fn push_response(element: Option<&[u8]>, lines: &mut Vec<u8>) {
    let Some(element) = element else { return };
    lines.extend_from_slice(b"Via: ");
    lines.extend_from_slice(element);
    lines.extend_from_slice(b"\r\n");
}

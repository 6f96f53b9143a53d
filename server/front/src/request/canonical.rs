//! Finds the server's name and port for SERVER_NAME, SERVER_PORT and links. Like Apache's
//! ap_get_server_name and ap_get_server_port, follows `UseCanonicalName`,
//! `UseCanonicalPhysicalPort` and `ServerName`.

use crate::request::Request;
use mehari_config::HostNames;
use std::borrow::Cow;

/// Returns the requested name in lower case. `ServerName` replaces it if no name was requested, or
/// with `UseCanonicalName`.
pub fn name<'a>(request: &Request<'a>, names: &'a HostNames) -> Cow<'a, [u8]> {
    let asked = request.host_name();
    match &names.server_name {
        Some(name) if asked.is_empty() || names.is_canonical() => name.as_bytes().into(),
        _ if asked.is_empty() => request.peer.server_addr.as_bytes().into(),
        _ if asked.iter().any(u8::is_ascii_uppercase) => asked.to_ascii_lowercase().into(),
        _ => asked.into(),
    }
}

/// Returns the port. The first known port counts: the requested port (with `UseCanonicalName` the
/// port of `ServerName`), the socket's port if `UseCanonicalPhysicalPort` is on, the port of
/// `ServerName`, the scheme's default port, on which a balancer in front of this server listens.
pub fn port(request: &Request<'_>, names: &HostNames) -> u16 {
    let named = if names.is_canonical() {
        names.server_port
    } else {
        asked_port(request)
    };
    let physical = || Some(request.peer.server_port).filter(|port| *port > 0);
    named
        .or_else(|| physical().filter(|_| names.is_port_physical()))
        .or(names.server_port)
        .unwrap_or_else(|| default_port(request, names))
}

/// Returns the scheme of this server's links: `https` over TLS, or if `ServerName` says so.
pub fn scheme(request: &Request<'_>, names: &HostNames) -> &'static [u8] {
    if request.peer.tls.is_some() || names.is_https {
        b"https"
    } else {
        b"http"
    }
}

/// Returns the prefix of this server's paths, such as `http://www.example.org:8080`.
pub fn origin(request: &Request<'_>, names: &HostNames) -> Vec<u8> {
    let port = port(request, names);
    let mut origin = [scheme(request, names), b"://", &name(request, names)].concat();
    if port != default_port(request, names) {
        origin.extend_from_slice(format!(":{port}").as_bytes());
    }
    origin
}

/// Returns a path with scheme and host before it. A target that is not a path stays unchanged.
pub fn absolute(request: &Request<'_>, names: &HostNames, target: Vec<u8>) -> Vec<u8> {
    if has_scheme(&target) || !target.starts_with(b"/") {
        return target;
    }
    [origin(request, names), target].concat()
}

/// Whether a target begins with `scheme://`.
pub fn has_scheme(target: &[u8]) -> bool {
    let colon = memchr::memmem::find(target, b"://");
    colon.is_some_and(|at| at > 0 && target[..at].iter().all(u8::is_ascii_alphanumeric))
}

/// Returns the port of the scheme.
pub fn default_port(request: &Request<'_>, names: &HostNames) -> u16 {
    match scheme(request, names) {
        b"https" => 443,
        _ => 80,
    }
}

/// Returns the port of `Host: name:port`, or of a target with an authority.
fn asked_port(request: &Request<'_>) -> Option<u16> {
    let behind = request.host.get(request.host_name().len()..)?;
    let digits = behind.strip_prefix(b":")?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

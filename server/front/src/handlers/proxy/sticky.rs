//! `stickysession`: finds the member that serves a session. Its route is the text after the last
//! dot of the session's cookie, query parameter or path parameter.

use crate::request::Request;
use mehari_config::Upstream;

pub fn route(request: &Request<'_>, settings: &Upstream) -> Option<String> {
    let name = settings.sticky.as_deref()?.as_bytes();
    let cookie = request.field("cookie").and_then(|cookies| {
        let mut crumbs = cookies.split(|&byte| byte == b';');
        crumbs.find_map(|crumb| value(crumb.trim_ascii(), name))
    });
    let parameter = || {
        let mut parts = request.query().split(|&byte| byte == b'&');
        parts.find_map(|part| value(part, name))
    };
    let in_path = || {
        let mut parts = request.path().split(|&byte| byte == b';').skip(1);
        parts.find_map(|part| value(part, name))
    };
    let session = cookie.or_else(parameter).or_else(in_path)?;
    let dot = memchr::memrchr(b'.', session)?;
    let route = std::str::from_utf8(&session[dot + 1..]).ok()?;
    (!route.is_empty()).then(|| route.to_string())
}

fn value<'t>(part: &'t [u8], name: &[u8]) -> Option<&'t [u8]> {
    part.strip_prefix(name)?.strip_prefix(b"=")
}

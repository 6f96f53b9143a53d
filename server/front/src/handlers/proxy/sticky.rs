//! `stickysession`: finds the route of a request's session, as Apache finds it.

use crate::request::Request;
use mehari_config::{StickySession, Upstream};
use mehari_upstream::Route;

/// Returns the route that the URL names, or else the one that the cookie names.
pub fn route(request: &Request<'_>, settings: &Upstream) -> Option<Route> {
    let sticky = settings.sticky()?;
    let in_url = parameter(request.resource, sticky).map(|value| (value, &sticky.parameter));
    let cookies = || request.field("cookie");
    let in_cookie = || Some((cookie(cookies()?, sticky)?, &sticky.cookie));
    let (session, name) = in_url.or_else(in_cookie)?;
    let route = match sticky.separator {
        Some(separator) => {
            let at = memchr::memchr(separator, session)?;
            &session[at + 1..]
        }
        None => session,
    };
    Some(Route {
        name: String::from_utf8_lossy(route).into_owned(),
        session: name.clone(),
    })
}

/// Returns the value of the parameter in a URL.
fn parameter<'u>(url: &'u [u8], sticky: &StickySession) -> Option<&'u [u8]> {
    let name = [sticky.parameter.as_bytes(), b"="].concat();
    let ends =
        |byte: &u8| matches!(byte, b'?' | b'&') || (*byte == b';' && sticky.ends_at_semicolon);
    let mut found = memchr::memmem::find_iter(url, &name);
    found.find_map(|at| {
        let value = url[at + name.len()..].split(ends).next()?;
        (!value.is_empty()).then_some(value)
    })
}

/// Returns the value of the cookie.
fn cookie<'c>(cookies: &'c [u8], sticky: &StickySession) -> Option<&'c [u8]> {
    let mut crumbs = cookies.split(|byte| matches!(byte, b';' | b','));
    crumbs.find_map(|crumb| {
        let rest = crumb.trim_ascii().strip_prefix(sticky.cookie.as_bytes())?;
        let value = rest.trim_ascii_start().strip_prefix(b"=")?;
        (!value.is_empty()).then_some(value)
    })
}

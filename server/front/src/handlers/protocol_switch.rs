//! `Upgrade`: a client requests another protocol on its connection (RFC 9110 section 7.8).

use crate::request::{Protocol, Request};

/// Returns the requested protocols, if back ends may get them. HTTP/2 in clear text is excluded,
/// because the requests on an upgraded connection would bypass every rule.
pub fn wanted<'a>(request: &Request<'a>) -> Option<&'a [u8]> {
    if request.protocol != Protocol::Http11 || request.redirect.is_some() {
        return None;
    }
    let offered = request.field("upgrade")?;
    let options = request.field("connection")?;
    let mut options = options.split(|&byte| byte == b',');
    let asks = options.any(|option| option.trim_ascii().eq_ignore_ascii_case(b"upgrade"));
    let mut protocols = offered.split(|&byte| byte == b',');
    let hides = protocols.any(|name| {
        let name = name.trim_ascii();
        name.is_empty() || (name.len() >= 3 && name[..3].eq_ignore_ascii_case(b"h2c"))
    });
    (asks && !hides).then_some(offered)
}

//! Replaces the back end's names in a response by this server's names, as `ProxyPassReverse`,
//! `ProxyPassReverseCookieDomain` and `ProxyPassReverseCookiePath` say.

use mehari_config::{BackEnd, ProxySettings};

/// Appends one header line of a response. The value is rewritten if the configuration says so.
pub fn push_line(
    field: &httparse::Header<'_>,
    settings: &ProxySettings,
    member: &BackEnd,
    into: &mut Vec<u8>,
) {
    let httparse::Header { name, value } = *field;
    into.reserve(name.len() + value.len() + 4);
    into.extend_from_slice(name.as_bytes());
    into.extend_from_slice(b": ");
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    match name.len() {
        3 | 8 | 16 if is("location") || is("content-location") || is("uri") => {
            push_location(value, settings, member, into)
        }
        10 if is("set-cookie") => push_cookie(value, settings, into),
        _ => into.extend_from_slice(value),
    }
    into.extend_from_slice(b"\r\n");
}

fn push_location(value: &[u8], settings: &ProxySettings, member: &BackEnd, into: &mut Vec<u8>) {
    for (url, path) in &settings.reverse {
        if let Some(rest) = behind(value, url, member) {
            // Exactly one slash separates `path` and `rest`.
            into.extend_from_slice(path.as_bytes());
            let doubled = path.ends_with('/') && rest.first() == Some(&b'/');
            into.extend_from_slice(&rest[usize::from(doubled)..]);
            return;
        }
    }
    into.extend_from_slice(value);
}

/// Returns the part of `value` after `url`. `None`: `value` does not begin with `url`, or `url`
/// ends inside a segment. `balancer://name/path` stands for the address of the member that
/// responded.
fn behind<'v>(value: &'v [u8], url: &str, member: &BackEnd) -> Option<&'v [u8]> {
    let balanced;
    let url = match url.strip_prefix("balancer://") {
        Some(rest) => {
            let path = rest.find('/').map_or("", |at| &rest[at..]);
            balanced = format!("http://{}{}{path}", member.host, member.path);
            balanced.as_str()
        }
        None => url,
    };
    let rest = value.strip_prefix(url.as_bytes())?;
    let boundary = matches!(rest.first(), None | Some(b'/' | b'?' | b'#' | b';'));
    (url.ends_with('/') || boundary).then_some(rest)
}

/// Appends a cookie. The attributes Domain and Path are rewritten.
fn push_cookie(value: &[u8], settings: &ProxySettings, into: &mut Vec<u8>) {
    if settings.cookie_domain.is_empty() && settings.cookie_path.is_empty() {
        return into.extend_from_slice(value);
    }
    for (index, part) in value.split(|&byte| byte == b';').enumerate() {
        if index > 0 {
            into.push(b';');
        }
        let lead = part.len() - part.trim_ascii_start().len();
        let (blanks, text) = part.split_at(lead);
        into.extend_from_slice(blanks);
        match attribute(index, text) {
            Some((name, domain)) if name.eq_ignore_ascii_case(b"domain") => {
                into.extend_from_slice(name);
                into.push(b'=');
                let mut rules = settings.cookie_domain.iter();
                let known = rules.find(|(from, _)| domain.eq_ignore_ascii_case(from.as_bytes()));
                into.extend_from_slice(known.map_or(domain, |(_, to)| to.as_bytes()));
            }
            Some((name, path)) if name.eq_ignore_ascii_case(b"path") => {
                into.extend_from_slice(name);
                into.push(b'=');
                let mut rules = settings.cookie_path.iter();
                // As in Apache, the new path replaces the whole path.
                let known = rules.find(|(from, _)| path.starts_with(from.as_bytes()));
                into.extend_from_slice(known.map_or(path, |(_, to)| to.as_bytes()));
            }
            _ => into.extend_from_slice(text),
        }
    }
}

fn attribute(index: usize, text: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = memchr::memchr(b'=', text).filter(|_| index > 0)?;
    Some((&text[..equals], &text[equals + 1..]))
}

#[cfg(test)]
mod tests;

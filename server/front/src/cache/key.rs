//! Makes the key of a page from the host, scheme, requested name and target, and parses purges.

use super::claims;
use crate::request::rule_state::MappingState;
use crate::request::{path_of, Request};
use crate::routing::{Route, RouteOutcome};
use mehari_config::Host;
use mehari_http::path::remove_dot_segments;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// The length in bytes of the part before the requested name.
const BEFORE: usize = 5;

/// Returns the key of a request. The key consists of the virtual host's identity (the same after a
/// restart), `s` or `-` for TLS or no TLS, the requested name, NUL, the target, the handler that
/// rules chose, and the client's claims.
pub fn of(request: &Request<'_>, route: &Route, host: &Host) -> Rc<[u8]> {
    let rules = &route.settings.cache;
    let mut which = DefaultHasher::new();
    (
        &host.names.server_name,
        &host.addresses,
        &host.mapping.document_root,
    )
        .hash(&mut which);
    let which = (which.finish() as u32).to_be_bytes();
    let resource = if rules.ignore_query {
        path_of(request.resource)
    } else {
        request.resource
    };
    let scheme: &[u8] = if request.peer.tls.is_some() {
        b"s"
    } else {
        b"-"
    };
    let host = request.host.to_ascii_lowercase();
    let (chosen, claimed) = (chosen(request, route), claims::of(request));
    [&which[..], scheme, &host, &[0], resource, &chosen, &claimed]
        .concat()
        .into()
}

/// Returns the handler that a rule or script chose. Rules may choose different programs for
/// requests of one URL, and the pages of these programs must be separate. The text begins with a
/// NUL, which no target contains.
fn chosen(request: &Request<'_>, route: &Route) -> Vec<u8> {
    let mapping = request.rule_state.map(|state| &state.mapping);
    let chose = |rules: &MappingState| rules.file().is_some() || rules.has_chosen_handler();
    if !mapping.is_some_and(chose) {
        return Vec::new();
    }
    let mut words = format!("\0{}\0", route.handler).into_bytes();
    words.extend_from_slice(&route.file);
    words.extend_from_slice(&route.path_info);
    if let RouteOutcome::Proxied(path) = &route.outcome {
        words.push(0);
        words.extend_from_slice(path);
    }
    words
}

/// Returns the target at the start of `rest`. A NUL or the end of `rest` ends the target.
fn target_of(rest: &[u8]) -> &[u8] {
    memchr::memchr(0, rest).map_or(rest, |end| &rest[..end])
}

/// Returns the part of a key up to the end of its target. The chosen handler and the claims are
/// left out.
pub fn base(key: &[u8]) -> &[u8] {
    let end_of = |from: usize| Some(memchr::memchr(0, key.get(from..)?)? + from);
    let target = end_of(BEFORE).map(|end| end + 1);
    match target.and_then(end_of) {
        Some(end) => &key[..end],
        None => key,
    }
}

/// Returns the beginning of all keys for the URL in the field Location of a response to the request
/// with this key. `None`: the URL is of another host, or has a wrong path.
pub fn of_location(key: &[u8], location: &[u8]) -> Option<Vec<u8>> {
    let at = memchr::memchr(0, key.get(BEFORE..)?)? + BEFORE;
    let host = &key[BEFORE..at];
    let target = target_within(host, target_of(&key[at + 1..]), location)?;
    Some([&key[..=at], &target].concat())
}

/// Resolves a reference (RFC 3986 section 5.2) on the page of `target`. `None`: the result is of
/// another host than `host`, or has a wrong path.
fn target_within(host: &[u8], target: &[u8], reference: &[u8]) -> Option<Vec<u8>> {
    let end = memchr::memchr(b'#', reference);
    let reference = &reference[..end.unwrap_or(reference.len())];
    let name = name_of_scheme(reference);
    let after_scheme = name.map_or(reference, |name| &reference[name.len() + 1..]);
    let is_web =
        |name: &[u8]| name.eq_ignore_ascii_case(b"http") || name.eq_ignore_ascii_case(b"https");
    if name.is_some_and(|name| !is_web(name) || !after_scheme.starts_with(b"//")) {
        return None;
    }
    let (path, query) = match after_scheme.strip_prefix(b"//") {
        Some(rest) => {
            let end = rest.iter().position(|byte| b"/?".contains(byte));
            let (authority, rest) = rest.split_at(end.unwrap_or(rest.len()));
            if !is_same_host(authority, host) {
                return None;
            }
            let (path, query) = parted(rest);
            let is_empty = path.is_empty();
            (
                if is_empty {
                    b"/".to_vec()
                } else {
                    path.to_vec()
                },
                query,
            )
        }
        None => {
            let (path, query) = parted(reference);
            let (own, own_query) = parted(target);
            match path {
                [] if query.is_empty() => (own.to_vec(), own_query),
                [] => (own.to_vec(), query),
                [b'/', ..] => (path.to_vec(), query),
                _ => {
                    let folder = memchr::memrchr(b'/', own)? + 1;
                    ([&own[..folder], path].concat(), query)
                }
            }
        }
    };
    let path = remove_dot_segments(&path).ok()?;
    Some([&path, query].concat())
}

/// Returns the name of the scheme with which a reference begins.
fn name_of_scheme(reference: &[u8]) -> Option<&[u8]> {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let end = reference.iter().position(|byte| !is_of_name(byte))?;
    (end > 0 && reference[end] == b':').then(|| &reference[..end])
}

/// Parts a target into its path and its query, which begins with the question mark.
fn parted(target: &[u8]) -> (&[u8], &[u8]) {
    target.split_at(path_of(target).len())
}

/// Whether two names with ports are of the same host. The usual ports may be left out.
fn is_same_host(one: &[u8], other: &[u8]) -> bool {
    fn bare(name: &[u8]) -> &[u8] {
        let usual = [&b":80"[..], b":443", b":"];
        let mut found = usual.iter().filter_map(|port| name.strip_suffix(*port));
        found.next().unwrap_or(name)
    }
    bare(one).eq_ignore_ascii_case(bare(other))
}

/// Names the pages to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purge {
    /// The host whose pages are removed. `None`: the pages of every host are removed.
    host: Option<Vec<u8>>,
    target: Vec<u8>,
    /// Whether the purge removes the pages of all targets that begin with `target`.
    all_below: bool,
}

impl Purge {
    /// Reads `http://host/path`, `//host/path` or `/path`. A final `*` matches any text. A path
    /// without a query matches the path with every query.
    pub fn parse(text: &[u8]) -> Option<Purge> {
        let rest = [&b"http://"[..], b"https://", b"//"]
            .iter()
            .find_map(|start| text.strip_prefix(*start));
        let (host, target) = match rest {
            None => (None, text),
            Some(rest) => {
                let slash = memchr::memchr(b'/', rest)?;
                (Some(rest[..slash].to_ascii_lowercase()), &rest[slash..])
            }
        };
        let (target, all_below) = match target.strip_suffix(b"*") {
            Some(start) => (start, true),
            None => (target, false),
        };
        target.starts_with(b"/").then(|| Purge {
            host: host.filter(|host| !host.is_empty()),
            target: target.to_vec(),
            all_below,
        })
    }

    /// Does the same as `parse`. If the text names no host, the purge is for the request's host.
    pub fn by(request: &Request<'_>, text: &[u8]) -> Option<Purge> {
        let mut purge = Purge::parse(text)?;
        purge
            .host
            .get_or_insert_with(|| request.host.to_ascii_lowercase());
        Some(purge)
    }

    pub fn means(&self, key: &[u8]) -> bool {
        let Some(rest) = key.get(BEFORE..) else {
            return false;
        };
        let Some(at) = memchr::memchr(0, rest) else {
            return false;
        };
        let (host, target) = (&rest[..at], target_of(&rest[at + 1..]));
        let is_host = self.host.as_ref().is_none_or(|known| known == host);
        let is_target = if self.all_below {
            target.starts_with(&self.target)
        } else {
            target == self.target || path_of(target) == self.target
        };
        is_host && is_target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_purge_means_what_it_says() {
        let key = |host: &str, target: &str| {
            [
                &[0, 0, 0, 1, b'-'],
                host.as_bytes(),
                &[0],
                target.as_bytes(),
            ]
            .concat()
        };
        let rows = [
            ("/news", "a", "/news", true),
            ("/news", "b", "/news?page=2", true),
            ("/news", "a", "/news/today", false),
            ("/news*", "a", "/news/today", true),
            ("/news?page=2", "a", "/news?page=2", true),
            ("/news?page=2", "a", "/news?page=1", false),
            ("http://A/news", "a", "/news", true),
            ("https://a:81/*", "a", "/news", false),
            ("//a/*", "a", "/x", true),
            ("//b/*", "a", "/x", false),
            ("/news", "a", "/news\0registry\0/srv/a.pl", true),
            ("/news", "a", "/new\0s", false),
        ];
        for (text, host, target, meant) in rows {
            let purge = Purge::parse(text.as_bytes()).expect(text);
            assert_eq!(
                purge.means(&key(host, target)),
                meant,
                "{text} {host}{target}"
            );
        }
        for wrong in ["", "news", "http://a", "*", "?x"] {
            assert_eq!(Purge::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn a_location_is_resolved_on_its_own_host() {
        let key = b"\0\0\0\0-host:81\0/a/b?c\0registry\0/srv/a.pl\0\x01x-forwarded-host=h";
        let rows = [
            ("/c", Some("/c")),
            ("/c?d#e", Some("/c?d")),
            ("/c/../d", Some("/d")),
            ("c", Some("/a/c")),
            ("../c?d:e", Some("/c?d:e")),
            ("./c:d", Some("/a/c:d")),
            ("?d", Some("/a/b?d")),
            ("", Some("/a/b?c")),
            ("http://host:81/c", Some("/c")),
            ("HTTPS://HOST:81/c", Some("/c")),
            ("http://host:81", Some("/")),
            ("http://host:81?d", Some("/?d")),
            ("//host:81/c", Some("/c")),
            ("http://host/c", None),
            ("//other/c", None),
            ("http://user@host:81/c", None),
            ("ftp://host:81/c", None),
            ("http:/c", None),
            ("c:d", None),
        ];
        for (location, expected) in rows {
            let found = of_location(key, location.as_bytes());
            let expected = expected.map(|target| format!("\0\0\0\0-host:81\0{target}"));
            let found = found.map(|found| String::from_utf8_lossy(&found).into_owned());
            assert_eq!(found, expected, "{location}");
        }
        assert!(is_same_host(b"host:443", b"HOST") && is_same_host(b"host", b"host:80"));
        assert!(!is_same_host(b"host:8080", b"host") && !is_same_host(b"host", b"host.de"));
    }
}

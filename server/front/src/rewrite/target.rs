//! Targets of rules: with a scheme or without, with a query, escaped.

use mehari_config::escaped;

pub fn has_scheme(target: &[u8]) -> bool {
    let colon = memchr::memmem::find(target, b"://");
    colon.is_some_and(|at| at > 0 && target[..at].iter().all(u8::is_ascii_alphanumeric))
}

pub(super) fn with_query(mut target: Vec<u8>, query: &[u8]) -> Vec<u8> {
    if !query.is_empty() {
        target.push(b'?');
        target.extend_from_slice(query);
    }
    target
}

/// The path escaped, scheme and host left alone; a fragment too.
pub(super) fn escape_target(target: &[u8]) -> Vec<u8> {
    let start = match has_scheme(target) {
        true => {
            let host = memchr::memmem::find(target, b"://").map_or(0, |at| at + 3);
            memchr::memchr(b'/', &target[host..]).map_or(target.len(), |at| host + at)
        }
        false => 0,
    };
    let (host, path) = target.split_at(start);
    let (path, fragment) = match memchr::memchr(b'#', path) {
        Some(at) => path.split_at(at),
        None => (path, &[][..]),
    };
    [host, &escaped(path), fragment].concat()
}

//! The two parts of a request target: its path and its query (RFC 9110 section 7.1).

/// The part before the `?`.
#[inline]
pub fn path_of(target: &[u8]) -> &[u8] {
    match memchr::memchr(b'?', target) {
        Some(at) => &target[..at],
        None => target,
    }
}

/// The part behind the `?`. Empty without a `?`.
#[inline]
pub fn query_of(target: &[u8]) -> &[u8] {
    target.get(path_of(target).len() + 1..).unwrap_or_default()
}

//! Splits a request target into its parts: authority, path and query (RFC 9110 section 7.1).

use crate::host;
use crate::problem::{bad, Problem};
use mehari_observe::bytes::all;

/// Returns the part before the `?`.
#[inline]
pub fn path_of(target: &[u8]) -> &[u8] {
    match memchr::memchr(b'?', target) {
        Some(at) => &target[..at],
        None => target,
    }
}

/// Returns the part behind the `?`, which is empty if there is no `?`.
#[inline]
pub fn query_of(target: &[u8]) -> &[u8] {
    target.get(path_of(target).len() + 1..).unwrap_or_default()
}

/// Splits a target into authority and path. Only an absolute target has an authority, which
/// replaces Host (RFC 9112 section 3.2.2).
///
/// # Errors
///
/// A [`Problem`] for a target of another form, and for a byte that must be encoded.
pub fn split<'t>(method: &[u8], target: &'t [u8]) -> Result<(Option<&'t [u8]>, &'t [u8]), Problem> {
    // Blanks, control characters and fragments are refused. Raw UTF-8 is allowed, because old sites
    // have links to such names.
    if !all(target, |byte| byte > b' ' && byte != 0x7f && byte != b'#') {
        return Err(bad("the target has a byte that must be encoded"));
    }
    // The target of CONNECT has another form. CONNECT is refused elsewhere.
    if target.first() == Some(&b'/') || target == b"*" || method == b"CONNECT" {
        return Ok((None, target));
    }
    let scheme = |scheme: &[u8]| {
        let start = target.get(..scheme.len())?;
        start
            .eq_ignore_ascii_case(scheme)
            .then(|| &target[scheme.len()..])
    };
    let rest = scheme(b"http://").or_else(|| scheme(b"https://"));
    let rest = rest.ok_or(bad("the target is neither a path nor an address"))?;
    let end = rest
        .iter()
        .position(|byte| b"/?".contains(byte))
        .unwrap_or(rest.len());
    host::check(&rest[..end])?;
    Ok((Some(&rest[..end]), &rest[end..]))
}

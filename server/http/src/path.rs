//! Decodes the path of a request target. The path is decoded once and refused if two readers could
//! disagree about it.
//!
//! This module knows no file system. The pipeline's stage `route` maps the result to a file.

use crate::problem::{bad, Problem};
use mehari_config::EncodedSlashes;
use mehari_text::percent;

mod dot_segments;

pub use dot_segments::{remove_dot_segments, resolved};

/// A decoded path. It begins with `/` and has no `.` or `..` segment, no NUL and no control byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The decoded bytes with repeated slashes, for PSGI applications.
    pub bytes: Vec<u8>,
    /// The decoded bytes with repeated slashes merged, as in Apache, for all rules and other
    /// programs.
    pub merged: Vec<u8>,
    /// Whether the path has an encoded slash that must not become a plain slash.
    pub encoded_slash: bool,
}

impl Path {
    /// Decodes a path. `raw` is the target up to its `?`.
    ///
    /// # Errors
    ///
    /// A [`Problem`] for a path that two readers could understand differently.
    pub fn decode(raw: &[u8]) -> Result<Path, Problem> {
        if raw.first() != Some(&b'/') {
            return Err(bad("the path does not begin with a slash"));
        }
        let (bytes, encoded_slash) = percent_decode(&remove_dot_segments(raw)?)?;
        check_bytes(&bytes)?;
        check_segments(&bytes)?;
        Ok(Path {
            merged: merge_slashes(&bytes),
            bytes,
            encoded_slash,
        })
    }

    /// Decodes a path according to `AllowEncodedSlashes`.
    ///
    /// # Errors
    ///
    /// A [`Problem`] as for [`Path::decode`].
    pub fn decode_as(raw: &[u8], slashes: EncodedSlashes) -> Result<Path, Problem> {
        match slashes {
            EncodedSlashes::Refused => Path::decode(raw),
            EncodedSlashes::Decoded => Ok(Path {
                encoded_slash: false,
                ..Path::decode(raw)?
            }),
            EncodedSlashes::Kept => {
                // A later reader may decode the slashes, and must then not find a `..` between
                // them.
                Path::decode(raw)?;
                let kept = with_slashes_kept(raw);
                Ok(Path {
                    encoded_slash: kept.len() > raw.len(),
                    ..Path::decode(&kept)?
                })
            }
        }
    }

    /// Returns how many of the bytes in `bytes` become the first `merged` bytes when slashes are
    /// merged.
    pub fn sent_length(&self, merged: usize) -> usize {
        let mut count = 0;
        let mut after_slash = false;
        for (at, &byte) in self.bytes.iter().enumerate() {
            let repeated = byte == b'/' && after_slash;
            if count == merged && !repeated {
                return at;
            }
            after_slash = byte == b'/';
            count += usize::from(!repeated);
        }
        self.bytes.len()
    }

    /// Returns whether a segment is private to the site's owner: dot files (except
    /// `/.well-known/`), backups of editors and patches.
    pub fn is_hidden(&self) -> bool {
        self.hides(self.merged.len())
    }

    /// Returns whether the first `length` bytes of the path have a private segment.
    pub fn hides(&self, length: usize) -> bool {
        hides(&self.merged[..length])
    }
}

/// Returns whether the path has a private segment.
pub fn hides(path: &[u8]) -> bool {
    let mut segments = path.split(|&byte| byte == b'/').skip(1).enumerate();
    segments.any(|(depth, segment)| {
        let public = depth == 0 && segment == b".well-known";
        !public && is_hidden_name(segment)
    })
}

/// Writes `%2f` as `%252f`, which decodes to `%2f`.
fn with_slashes_kept(raw: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(raw.len());
    for (at, byte) in raw.iter().enumerate() {
        kept.push(*byte);
        let follows = raw.get(at + 1..at + 3);
        if *byte == b'%' && follows.is_some_and(|next| next.eq_ignore_ascii_case(b"2f")) {
            kept.extend_from_slice(b"25");
        }
    }
    kept
}

fn is_hidden_name(name: &[u8]) -> bool {
    const SUFFIXES: [&[u8]; 11] = [
        b"~", b".bak", b".swp", b".orig", b".rej", b",v", b".old", b".save", b".sav", b".pm",
        b".psgi",
    ];
    // A copy of a script with another suffix (`form.pl.txt`, `form.cgi.1`) would show the script's
    // source.
    const INSIDE: [&[u8]; 3] = [b".pl.", b".cgi.", b".pm."];
    let ends = |suffix: &[u8]| {
        name.len() >= suffix.len() && name[name.len() - suffix.len()..].eq_ignore_ascii_case(suffix)
    };
    name.first() == Some(&b'.')
        || SUFFIXES.into_iter().any(ends)
        || INSIDE
            .into_iter()
            .any(|part| memchr::memmem::find(name, part).is_some())
        || (name.len() > 1 && name.starts_with(b"#") && name.ends_with(b"#"))
}

fn percent_decode(raw: &[u8]) -> Result<(Vec<u8>, bool), Problem> {
    const PROBLEM: Problem = bad("a percent sign without two hexadecimal digits");
    let mut decoded = Vec::with_capacity(raw.len());
    let mut encoded_slash = false;
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'%', rest) {
        decoded.extend_from_slice(&rest[..at]);
        let byte = percent::code(&rest[at..]).ok_or(PROBLEM)?;
        encoded_slash |= byte == b'/';
        decoded.push(byte);
        rest = &rest[at + 3..];
    }
    decoded.extend_from_slice(rest);
    Ok((decoded, encoded_slash))
}

/// The refusals of bytes that Apache takes for a part of a file name.
pub const UNUSUAL_BYTES: [Problem; 2] = [
    bad("a control byte in the path"),
    bad("overlong UTF-8 in the path"),
];

/// Refuses control bytes and overlong UTF-8: careless readers take `%c0%af` for a slash.
fn check_bytes(path: &[u8]) -> Result<(), Problem> {
    if path.iter().any(|&byte| byte < b' ' || byte == 0x7f) {
        return Err(UNUSUAL_BYTES[0]);
    }
    let continues = |byte: u8| byte & 0xc0 == 0x80;
    let overlong = |pair: &[u8]| match pair[0] {
        0xc0 | 0xc1 => continues(pair[1]),
        0xe0 => continues(pair[1]) && pair[1] < 0xa0,
        0xf0 => continues(pair[1]) && pair[1] < 0x90,
        _ => false,
    };
    if path.windows(2).any(overlong) {
        Err(UNUSUAL_BYTES[1])
    } else {
        Ok(())
    }
}

/// Refuses a `..` next to an encoded slash, a backslash or a `;`. Some programs take such a segment
/// for `..`.
fn check_segments(path: &[u8]) -> Result<(), Problem> {
    let mut segments = path.split(|byte| b"/\\".contains(byte));
    let climbs = |segment: &[u8]| {
        let name = segment.split(|&byte| byte == b';').next();
        name == Some(b"..")
    };
    if memchr::memmem::find(path, b"..").is_some() && segments.any(climbs) {
        Err(bad("a disguised .. segment in the path"))
    } else {
        Ok(())
    }
}

pub fn merge_slashes(path: &[u8]) -> Vec<u8> {
    let mut merged = path.to_vec();
    merged.dedup_by(|next, before| *next == b'/' && *before == b'/');
    merged
}

#[cfg(test)]
mod tests;

//! The path of a request target. It is decoded once and refused if two readers could disagree about
//! it.
//!
//! This module knows no file system; `route` maps the result.

use crate::problem::{bad, Problem};
use mehari_config::EncodedSlashes;
use mehari_text::percent;
use std::borrow::Cow;

/// A decoded path: it begins with `/` and has no `.` or `..` segment, no NUL and no control byte.
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
                // A later reader may decode the slashes. The reader must not find a `..` between
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

    /// How many of `bytes` become `merged` bytes when slashes are merged.
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

    /// Whether a segment is private to the site's owner: dot files (except `/.well-known/`),
    /// backups of editors and patches.
    pub fn is_hidden(&self) -> bool {
        self.hides(self.merged.len())
    }

    /// Whether the first `length` bytes of the path have such a segment.
    pub fn hides(&self, length: usize) -> bool {
        let path = &self.merged[..length];
        let mut segments = path.split(|&byte| byte == b'/').skip(1).enumerate();
        segments.any(|(depth, segment)| {
            let public = depth == 0 && segment == b".well-known";
            !public && is_hidden_name(segment)
        })
    }
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
    // A copy of a script with another suffix (`form.pl.txt`, `form.cgi.1`) contains its source.
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

/// Refuses control bytes and overlong UTF-8: careless readers take `%c0%af` for a slash.
fn check_bytes(path: &[u8]) -> Result<(), Problem> {
    if path.iter().any(|&byte| byte < b' ' || byte == 0x7f) {
        return Err(bad("a control byte in the path"));
    }
    let continues = |byte: u8| byte & 0xc0 == 0x80;
    let overlong = |pair: &[u8]| match pair[0] {
        0xc0 | 0xc1 => continues(pair[1]),
        0xe0 => continues(pair[1]) && pair[1] < 0xa0,
        0xf0 => continues(pair[1]) && pair[1] < 0x90,
        _ => false,
    };
    if path.windows(2).any(overlong) {
        Err(bad("overlong UTF-8 in the path"))
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

/// Removes `.` and `..` segments from the path as sent (RFC 3986 section 5.2.4). `%2e` counts as a
/// dot. A path above the root is refused.
///
/// # Errors
///
/// A [`Problem`] for a path that leads above the root.
pub fn remove_dot_segments(raw: &[u8]) -> Result<Cow<'_, [u8]>, Problem> {
    const PROBLEM: Problem = bad("a path that leads above the root");
    let mut segments = raw.split(|&byte| byte == b'/');
    if !segments.any(|segment| Step::of_encoded(segment) != Step::Into) {
        return Ok(Cow::Borrowed(raw));
    }
    resolve_segments(raw, Step::of_encoded)
        .map(Cow::Owned)
        .ok_or(PROBLEM)
}

/// Removes `.` and `..` from an absolute path that a rule or a page has made. `None`: the path is
/// above its root.
pub fn resolved(path: &[u8]) -> Option<Vec<u8>> {
    resolve_segments(path, Step::of)
}

/// How a segment changes the current folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Into,
    Stay,
    Up,
}

impl Step {
    fn of(segment: &[u8]) -> Step {
        match segment {
            b"." => Step::Stay,
            b".." => Step::Up,
            _ => Step::Into,
        }
    }

    fn of_encoded(segment: &[u8]) -> Step {
        let mut rest = segment;
        for step in [Step::Into, Step::Stay, Step::Up] {
            let dot = rest.strip_prefix(b".");
            let encoded = |rest: &[u8]| rest.get(..3)?.eq_ignore_ascii_case(b"%2e").then_some(());
            rest = match (rest, dot) {
                (b"", _) => return step,
                (_, Some(behind)) => behind,
                _ if encoded(rest).is_some() => &rest[3..],
                _ => return Step::Into,
            };
        }
        Step::Into
    }
}

/// Returns the absolute path after all steps. `..` leaves the previous folder, however many slashes
/// stand between them, as on the disk.
fn resolve_segments(path: &[u8], step: impl Fn(&[u8]) -> Step) -> Option<Vec<u8>> {
    let mut kept: Vec<&[u8]> = Vec::new();
    let mut segments = path.strip_prefix(b"/")?.split(|&byte| byte == b'/');
    let mut ends_in_folder = false;
    for segment in &mut segments {
        let step = step(segment);
        ends_in_folder = step != Step::Into;
        match step {
            Step::Into => kept.push(segment),
            Step::Stay => {}
            Step::Up => {
                while kept.last().is_some_and(|name| name.is_empty()) {
                    kept.pop();
                }
                kept.pop()?;
            }
        }
    }
    if ends_in_folder {
        kept.push(b"");
    }
    Some([b"/", &kept.join(&b"/"[..])[..]].concat())
}

pub fn merge_slashes(path: &[u8]) -> Vec<u8> {
    let mut merged = path.to_vec();
    merged.dedup_by(|next, before| *next == b'/' && *before == b'/');
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_decode_once() {
        let cases = [
            ("/", "/"),
            ("/a/b.html", "/a/b.html"),
            ("/a%20b%2Ec", "/a b.c"),
            ("/%252e%252e/", "/%2e%2e/"),
            ("/./a/./b/.", "/a/b/"),
            ("/.", "/"),
            ("/a//b", "/a//b"),
            ("/...", "/..."),
            ("/a..b/..c", "/a..b/..c"),
            ("/a/../b", "/b"),
            ("/a/b/..", "/a/"),
            ("/a/%2e%2E/b/.%2e/%2e/c", "/c"),
            ("/a//../b", "/b"),
            ("/a/..//b", "//b"),
            ("/a/b;x/../c", "/a/c"),
            ("/a/b%2fc/../d", "/a/d"),
            ("/%E3%81%82", "/\u{3042}"),
        ];
        for (raw, decoded) in cases {
            let path = Path::decode(raw.as_bytes()).expect(raw);
            assert_eq!(
                path.bytes.escape_ascii().to_string(),
                decoded.as_bytes().escape_ascii().to_string(),
                "{raw}"
            );
        }
        let path = Path::decode(b"//a%2fb///c").expect("decodes");
        assert_eq!(path.merged, b"/a/b/c");
        assert!(path.encoded_slash);
    }

    #[test]
    fn paths_that_leave_the_tree_or_hide_bytes_are_refused() {
        let cases = [
            "",
            "a",
            "*",
            "/..",
            "/../",
            "//..",
            "/a/../..",
            "/a/./../../b",
            "/..;/x",
            "/a/..;x=y",
            "/a%2f../b",
            "/a%2f..%2fb",
            "/%2e%2e/",
            "/%2e%2e%2f",
            "/.%2e/x",
            "/..%2fx",
            "/..%5cx",
            "/%5c..%5cx",
            "/..\\x",
            "/%00",
            "/a%00.pl",
            "/%0d%0a",
            "/%7f",
            "/%",
            "/%2",
            "/%zz",
            "/%+2",
            "/%c0%af",
            "/%c0%ae%c0%ae/",
            "/%e0%80%af",
            "/%f0%80%80%af",
            "/\x01",
        ];
        for raw in cases {
            assert_eq!(
                Path::decode(raw.as_bytes()).map_err(|p| p.status),
                Err(400),
                "{raw}"
            );
        }
    }

    #[test]
    fn slashes_that_stay_encoded_hide_no_dots() {
        use EncodedSlashes::Kept;
        let kept = Path::decode_as(b"/x/../a%2fb/c", Kept).expect("decodes");
        assert_eq!(kept.merged, b"/a%2fb/c");
        assert!(Path::decode_as(b"/a%2f..%2fb", Kept).is_err());
        assert!(Path::decode_as(b"/a/..%2f/b", Kept).is_err());
    }

    #[test]
    fn paths_that_are_put_together_stay_below_their_root() {
        for (path, expected) in [
            ("/a/./b", Some("/a/b")),
            ("/a/../b", Some("/b")),
            ("/a/b/..", Some("/a/")),
            ("/a/.", Some("/a/")),
            ("/a//b", Some("/a//b")),
            ("/a//../b", Some("/b")),
            ("/a/%2e%2e/b", Some("/a/%2e%2e/b")),
            ("/..", None),
            ("/a/../../b", None),
            ("/", Some("/")),
            ("/a/", Some("/a/")),
            ("a/b", None),
        ] {
            let found =
                resolved(path.as_bytes()).map(|path| String::from_utf8(path).expect("ASCII"));
            assert_eq!(found.as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn leavings_are_hidden() {
        for raw in [
            "/.git/config",
            "/a/.htaccess",
            "/x~",
            "/x.bak",
            "/x.pl.BAK",
            "/#x#",
            "/.x.swp",
            "/x.orig",
            "/x.rej",
            "/x,v",
            "/a/.well-known/x",
        ] {
            assert!(
                Path::decode(raw.replace('#', "%23").as_bytes())
                    .expect(raw)
                    .is_hidden(),
                "{raw}"
            );
        }
        for raw in ["/", "/.well-known/acme", "/x.html", "/bak", "/a.b/c"] {
            assert!(
                !Path::decode(raw.as_bytes()).expect(raw).is_hidden(),
                "{raw}"
            );
        }
    }
}

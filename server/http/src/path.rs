//! The path of a request target: decoded once, and refused where two readers could disagree about it.
//!
//! Knows no file system. `route` maps what comes out.

use crate::problem::{bad, Problem};
use mehari_config::EncodedSlashes;

/// A decoded path: begins with `/`, has no `.` or `..` segment, no NUL, no control byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// Repeated slashes as sent: what a program gets.
    pub bytes: Vec<u8>,
    /// Repeated slashes merged: what sections are matched against.
    pub merged: Vec<u8>,
    /// A slash came encoded, and is not just any slash: it can name no file, or stays as it came.
    pub encoded_slash: bool,
}

impl Path {
    /// `raw` is the target up to its `?`.
    pub fn decode(raw: &[u8]) -> Result<Path, Problem> {
        if raw.first() != Some(&b'/') {
            return Err(bad("the path does not begin with a slash"));
        }
        let (decoded, encoded_slash) = percent_decode(raw)?;
        check_bytes(&decoded)?;
        let bytes = without_dot_segments(decoded)?;
        Ok(Path {
            merged: merge_slashes(&bytes),
            bytes,
            encoded_slash,
        })
    }

    /// As `AllowEncodedSlashes` has it.
    pub fn decode_as(raw: &[u8], slashes: EncodedSlashes) -> Result<Path, Problem> {
        match slashes {
            EncodedSlashes::Refused => Path::decode(raw),
            EncodedSlashes::Decoded => Ok(Path {
                encoded_slash: false,
                ..Path::decode(raw)?
            }),
            EncodedSlashes::Kept => {
                let kept = with_slashes_kept(raw);
                Ok(Path {
                    encoded_slash: kept.len() > raw.len(),
                    ..Path::decode(&kept)?
                })
            }
        }
    }

    /// How many of `bytes` merging makes `merged` bytes of.
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

    /// A segment nobody but the site's owner should see: dot files (but `/.well-known/`), editors' and patches' leavings.
    pub fn is_hidden(&self) -> bool {
        let mut segments = self.merged.split(|&byte| byte == b'/').skip(1).enumerate();
        segments.any(|(depth, segment)| {
            let public = depth == 0 && segment == b".well-known";
            !public && is_hidden_name(segment)
        })
    }
}

/// `%2f` as `%252f`, which decodes to what it was.
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
    // A copy of a script under another suffix (`form.pl.txt`, `form.cgi.1`) is its source.
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
        let digits = rest.get(at + 1..at + 3).ok_or(PROBLEM)?;
        let digit = |byte: u8| (byte as char).to_digit(16).ok_or(PROBLEM);
        let byte = (digit(digits[0])? * 16 + digit(digits[1])?) as u8;
        encoded_slash |= byte == b'/';
        decoded.push(byte);
        rest = &rest[at + 3..];
    }
    decoded.extend_from_slice(rest);
    Ok((decoded, encoded_slash))
}

/// No control bytes, and no UTF-8 that is longer than it need be: `%c0%af` is a slash to careless readers.
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
    match path.windows(2).any(overlong) {
        true => Err(bad("overlong UTF-8 in the path")),
        false => Ok(()),
    }
}

/// `.` segments vanish. A `..` is refused, behind a backslash too: clients resolve it before they send.
fn without_dot_segments(path: Vec<u8>) -> Result<Vec<u8>, Problem> {
    if !path.contains(&b'.') {
        return Ok(path);
    }
    if path
        .split(|&byte| byte == b'/' || byte == b'\\')
        .any(|segment| segment == b"..")
    {
        return Err(bad("a .. segment in the path"));
    }
    let mut segments = path[1..].split(|&byte| byte == b'/').peekable();
    let mut clean = Vec::with_capacity(path.len());
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        if segment != b"." {
            clean.push(b'/');
            clean.extend_from_slice(segment);
        } else if last {
            clean.push(b'/');
        }
    }
    Ok(clean)
}

/// `.` and `..` worked out of an absolute path that a rule or a page has put together. `None`: it leads above its root.
pub fn resolved(path: &[u8]) -> Option<Vec<u8>> {
    let mut kept: Vec<&[u8]> = Vec::new();
    let mut parts = path
        .strip_prefix(b"/")?
        .split(|byte| *byte == b'/')
        .peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        match part {
            b".." => drop(kept.pop()?),
            b"." => {}
            part => {
                kept.push(part);
                continue;
            }
        }
        if is_last {
            kept.push(b"");
        }
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
            "/a/../b",
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
    fn paths_that_are_put_together_stay_below_their_root() {
        for (path, expected) in [
            ("/a/./b", Some("/a/b")),
            ("/a/../b", Some("/b")),
            ("/a/b/..", Some("/a/")),
            ("/a/.", Some("/a/")),
            ("/a//b", Some("/a//b")),
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

//! The functions of expressions, `tolower(...)` and the like.

use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use base64::engine::DecodePaddingMode;
use base64::Engine;
use md5::{Digest, Md5};
use mehari_text::{hex, percent};
use sha1::Sha1;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::UNIX_EPOCH;

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The longest file that `file(...)` reads, in bytes. Apache's limit.
const LONGEST_FILE: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Lower,
    Upper,
    Escape,
    Unescape,
    Base64,
    Unbase64,
    Md5,
    Sha1,
    Ldap,
    /// `int:unescape`: decodes what is encoded.
    Decode,
    /// The content of a file, its size in bytes, and the time of its last change in microseconds.
    File,
    FileSize,
    FileTime,
}

impl Function {
    /// Returns the function with this name. Names have no case.
    pub(crate) fn named(name: &str) -> Option<Function> {
        Some(match name.to_ascii_lowercase().as_str() {
            "tolower" => Function::Lower,
            "toupper" => Function::Upper,
            "escape" => Function::Escape,
            "unescape" => Function::Unescape,
            "base64" => Function::Base64,
            "unbase64" => Function::Unbase64,
            "md5" => Function::Md5,
            "sha1" => Function::Sha1,
            "ldap" => Function::Ldap,
            "file" => Function::File,
            "filesize" => Function::FileSize,
            "filemod" => Function::FileTime,
            _ => return None,
        })
    }

    /// Returns the function of a `RewriteMap` with `int:`.
    pub(crate) fn of_maps(name: &str) -> Option<Function> {
        Some(match name {
            "tolower" => Function::Lower,
            "toupper" => Function::Upper,
            "escape" => Function::Escape,
            "unescape" => Function::Decode,
            _ => return None,
        })
    }

    pub fn apply(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Function::Lower => bytes.to_ascii_lowercase(),
            Function::Upper => bytes.to_ascii_uppercase(),
            Function::Escape => escape(bytes),
            Function::Unescape => unescape(bytes),
            Function::Decode => percent::decode_lenient(bytes),
            Function::Base64 => STANDARD.encode(bytes).into_bytes(),
            Function::Unbase64 => unbase64(bytes),
            Function::Md5 => hex::lower(&Md5::digest(bytes)).into_bytes(),
            Function::Sha1 => hex::lower(&Sha1::digest(bytes)).into_bytes(),
            Function::Ldap => escape_ldap(bytes),
            Function::File => content(bytes),
            Function::FileSize => {
                let size = metadata(bytes).map_or(0, |found| found.len());
                size.to_string().into_bytes()
            }
            Function::FileTime => {
                let changed = metadata(bytes).and_then(|found| found.modified().ok());
                let since = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
                let micros = since.map_or(0, |since| since.as_micros());
                micros.to_string().into_bytes()
            }
        }
    }
}

/// Decodes the text up to the first character that does not belong to it, with or without padding.
fn unbase64(bytes: &[u8]) -> Vec<u8> {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    let count = bytes.iter().take_while(|byte| is_digit(byte)).count();
    let digits = &bytes[..count];
    // One digit alone is no byte.
    let whole = count - usize::from(count % 4 == 1);
    LENIENT.decode(&digits[..whole]).unwrap_or_default()
}

fn metadata(path: &[u8]) -> Option<std::fs::Metadata> {
    std::fs::metadata(OsStr::from_bytes(path)).ok()
}

fn content(path: &[u8]) -> Vec<u8> {
    let is_short = |found: std::fs::Metadata| found.is_file() && found.len() <= LONGEST_FILE;
    let read = || std::fs::read(OsStr::from_bytes(path)).ok();
    let found = metadata(path).is_some_and(is_short).then(read).flatten();
    found.unwrap_or_default()
}

/// Encodes what may not stand in a path, in lower-case digits as Apache does.
fn escape(bytes: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        if percent::OF_PATHS.has(byte) {
            escaped.push(byte);
        } else {
            percent::push_lower(byte, &mut escaped);
        }
    }
    escaped
}

/// Decodes a text. As in Apache, an encoded slash stays, and a wrong or empty character makes the
/// whole text empty.
fn unescape(bytes: &[u8]) -> Vec<u8> {
    let mut parts = Vec::new();
    let mut rest = bytes;
    let is_slash = |three: &[u8]| three.eq_ignore_ascii_case(b"%2f");
    while let Some(at) = rest.windows(3).position(is_slash) {
        parts.push((&rest[..at], &rest[at..at + 3]));
        rest = &rest[at + 3..];
    }
    parts.push((rest, b""));
    let mut decoded = Vec::with_capacity(bytes.len());
    for (part, slash) in parts {
        match percent::decode(part).filter(|part| !part.contains(&0)) {
            Some(part) => decoded.extend_from_slice(&part),
            None => return Vec::new(),
        }
        decoded.extend_from_slice(slash);
    }
    decoded
}

/// Escapes a text for names (RFC 4514) and filters (RFC 4515) of LDAP.
fn escape_ldap(bytes: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        if b"\\,+\"<>;=*()#\0".contains(&byte) {
            escaped.push(b'\\');
            hex::push_lower(byte, &mut escaped);
        } else {
            escaped.push(byte);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::Function;

    #[test]
    fn functions_give_what_apaches_give() {
        for (name, argument, value) in [
            ("toLower", "AbC", "abc"),
            ("toupper", "aB", "AB"),
            ("escape", "a b?/%", "a%20b%3f/%25"),
            ("unescape", "a%20b%2Fc", "a b%2Fc"),
            ("unescape", "%zz", ""),
            ("unescape", "a%00b", ""),
            ("base64", "abc", "YWJj"),
            ("unbase64", "YWJj", "abc"),
            ("unbase64", "YWI", "ab"),
            ("unbase64", "YW==x", "a"),
            ("md5", "abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("sha1", "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            ("filesize", "/nonexistent", "0"),
            ("file", "/nonexistent", ""),
        ] {
            let function = Function::named(name).expect("a function");
            let found = function.apply(argument.as_bytes());
            assert_eq!(found, value.as_bytes(), "{name}({argument})");
        }
        assert_eq!(Function::named("frob"), None);
    }
}

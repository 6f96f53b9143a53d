//! Makes the command line of a program: the words of an indexed query (RFC 3875 section 4.4), as in
//! Apache.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// Returns the decoded words of a query without `=`. A backslash stands before each character that
/// a shell would interpret. A query with `=`, or one that does not decode, has no words.
pub fn from_query(query: &[u8]) -> Vec<OsString> {
    if query.is_empty() || query.contains(&b'=') {
        return Vec::new();
    }
    let words = query.split(|&byte| byte == b'+');
    let words: Option<Vec<OsString>> = words
        .map(|word| Some(OsString::from_vec(escaped(&decoded(word)?))))
        .collect();
    words.unwrap_or_default()
}

/// Decodes a word. Returns `None` if a `%` lacks its two hexadecimal digits, or if there is a NUL.
fn decoded(word: &[u8]) -> Option<Vec<u8>> {
    mehari_text::percent::decode(word).filter(|bytes| !bytes.contains(&0))
}

/// Escapes a word as RFC 3875 section 7.2 recommends.
fn escaped(word: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(word.len());
    for &byte in word {
        if b"&;`'\"|*?~<>^()[]{}$\\\n".contains(&byte) {
            bytes.push(b'\\');
        }
        bytes.push(byte);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_indexed_query_has_words() {
        let cases: [(&str, &[&str]); 9] = [
            ("", &[]),
            ("a=b", &[]),
            ("one", &["one"]),
            ("one+two", &["one", "two"]),
            ("a%20b+c%3Dd", &["a b", "c=d"]),
            ("a++b", &["a", "", "b"]),
            ("$(x)+%60y;", &["\\$\\(x\\)", "\\`y\\;"]),
            ("a%zz", &[]),
            ("ok+a%00b", &[]),
        ];
        for (query, expected) in cases {
            assert_eq!(from_query(query.as_bytes()), expected, "{query}");
        }
        assert!(from_query(b"%4").is_empty() && from_query(b"%").is_empty());
    }
}

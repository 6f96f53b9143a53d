//! Percent-encoding (RFC 3986 section 2.1): `%` and two hexadecimal digits stand for a byte.

use crate::hex;

/// The bytes that an encoder leaves as they are.
pub struct ByteSet([bool; 256]);

/// The bytes of a path: letters, digits, `/`, unreserved marks, sub-delimiters, `:` and `@`.
pub const OF_PATHS: &ByteSet = &ByteSet::letters_digits_and(b"/-._~!$&'()*+,;=:@");

impl ByteSet {
    pub const fn letters_digits_and(marks: &[u8]) -> ByteSet {
        let mut kept = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            kept[byte] = (byte as u8).is_ascii_alphanumeric();
            byte += 1;
        }
        let mut at = 0;
        while at < marks.len() {
            kept[marks[at] as usize] = true;
            at += 1;
        }
        ByteSet(kept)
    }

    pub const fn has(&self, byte: u8) -> bool {
        self.0[byte as usize]
    }
}

/// Encodes all bytes that are not in `kept`, in upper-case digits as RFC 3986 recommends.
pub fn encode(bytes: &[u8], kept: &ByteSet) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        if kept.has(byte) {
            encoded.push(byte);
        } else {
            encoded.push(b'%');
            hex::push_upper(byte, &mut encoded);
        }
    }
    encoded
}

/// Encodes the bytes that may not stand in a path.
pub fn encode_path(path: &[u8]) -> Vec<u8> {
    encode(path, OF_PATHS)
}

/// Appends the code of one byte in lower-case digits, as Apache's modules do.
pub fn push_lower(byte: u8, into: &mut Vec<u8>) {
    into.push(b'%');
    hex::push_lower(byte, into);
}

/// Decodes `text`. A `%` without two digits behind it stays.
pub fn decode_lenient(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, others)) = rest.split_first() {
        match code(rest) {
            Some(byte) => {
                decoded.push(byte);
                rest = &rest[3..];
            }
            None => {
                decoded.push(first);
                rest = others;
            }
        }
    }
    decoded
}

/// Decodes `text`. Returns `None` if a `%` lacks its two digits.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, others)) = rest.split_first() {
        if first == b'%' {
            decoded.push(code(rest)?);
            rest = &rest[3..];
        } else {
            decoded.push(first);
            rest = others;
        }
    }
    Some(decoded)
}

/// Returns the byte of the code at the start of `text`, or `None` if there is no code.
#[inline]
pub fn code(text: &[u8]) -> Option<u8> {
    match text {
        [b'%', high, low, ..] => hex::byte(*high, *low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_decodes_to_itself() {
        let bytes: Vec<u8> = (0..=255).collect();
        let encoded = encode(&bytes, OF_PATHS);
        assert!(encoded
            .iter()
            .all(|&byte| byte == b'%' || OF_PATHS.has(byte)));
        assert_eq!(decode(&encoded).as_deref(), Some(&bytes[..]));
        assert_eq!(decode_lenient(&encoded), bytes);
    }

    #[test]
    fn decode_refuses_a_broken_code_and_decode_lenient_keeps_it() {
        for text in ["%", "a%2", "%zz", "%%41", "%+1"] {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
        for (text, decoded) in [
            ("%", "%"),
            ("a%2", "a%2"),
            ("%%41", "%A"),
            ("%zz%20", "%zz "),
        ] {
            assert_eq!(
                decode_lenient(text.as_bytes()),
                decoded.as_bytes(),
                "{text}"
            );
        }
    }

    #[test]
    fn digits_are_upper_case_except_from_push_lower() {
        assert_eq!(encode(b"a/\xe4 b", OF_PATHS), b"a/%E4%20b");
        let mut text = Vec::new();
        push_lower(0xe4, &mut text);
        assert_eq!(text, b"%e4");
    }
}

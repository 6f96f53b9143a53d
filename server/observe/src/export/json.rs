//! Writes OTLP's JSON straight into a buffer. No value is copied before it is written.

use crate::escape::{json_string, Decimal};

/// Writes a text that needs no escapes, such as digits or a name, with its quotes.
#[inline]
pub fn plain(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    out.extend_from_slice(text);
    out.push(b'"');
}

/// Writes a text with its quotes and escapes.
pub fn text(out: &mut Vec<u8>, text: &str) {
    json_string(out, text.as_bytes());
}

/// Writes a number of 64 bits, which OTLP's JSON has as a text.
#[inline]
pub fn long(out: &mut Vec<u8>, number: u64) {
    plain(out, Decimal::new(number).text());
}

/// Writes a number as 16 hexadecimal digits.
#[inline]
pub fn hexadecimal(out: &mut Vec<u8>, number: u64) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 16];
    for (index, digit) in text.iter_mut().enumerate() {
        *digit = DIGITS[(number >> (60 - 4 * index)) as usize & 15];
    }
    out.extend_from_slice(&text);
}

/// The member `attributes` of an object. Without an attribute there is no such member.
pub struct Attributes<'a> {
    out: &'a mut Vec<u8>,
    is_begun: bool,
}

impl<'a> Attributes<'a> {
    /// Begins the member of an object.
    pub fn begin(out: &'a mut Vec<u8>) -> Attributes<'a> {
        Attributes {
            out,
            is_begun: false,
        }
    }

    /// Adds a text, or the beginning of a long one.
    pub fn text(&mut self, key: &'static str, value: &str) {
        self.key(key, b"stringValue");
        text(self.out, cut(value));
        self.out.extend_from_slice(b"}}");
    }

    /// Adds a text that needs no escapes.
    pub fn word(&mut self, key: &'static str, value: &str) {
        self.key(key, b"stringValue");
        plain(self.out, value.as_bytes());
        self.out.extend_from_slice(b"}}");
    }

    pub fn number(&mut self, key: &'static str, value: impl Into<u64>) {
        self.key(key, b"intValue");
        long(self.out, value.into());
        self.out.extend_from_slice(b"}}");
    }

    #[inline]
    fn key(&mut self, key: &'static str, kind: &'static [u8]) {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.begin_list();
        } else {
            self.out.push(b',');
        }
        self.out.extend_from_slice(b"{\"key\":\"");
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\",\"value\":{\"");
        self.out.extend_from_slice(kind);
        self.out.extend_from_slice(b"\":");
    }

    fn begin_list(&mut self) {
        if !self.out.ends_with(b"{") {
            self.out.push(b',');
        }
        self.out.extend_from_slice(b"\"attributes\":[");
    }

    pub fn end(self) {
        if self.is_begun {
            self.out.push(b']');
        }
    }
}

/// Returns the beginning of a long text.
pub fn cut(text: &str) -> &str {
    /// The longest text of a span in bytes.
    const LONGEST: usize = 4096;
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_all_their_digits() {
        for number in [0, 1, 0xb7ad_6b71_6920_3331, u64::MAX] {
            let mut out = Vec::new();
            hexadecimal(&mut out, number);
            assert_eq!(out, format!("{number:016x}").into_bytes());
        }
    }

    #[test]
    fn attributes_are_a_list_or_nothing() {
        let write = |count: usize| {
            let mut out = b"{\"a\":1".to_vec();
            let mut attributes = Attributes::begin(&mut out);
            for _ in 0..count {
                attributes.text("b.c", &"é\"".repeat(3000));
                attributes.word("d", "e");
                attributes.number("f", u64::MAX);
            }
            attributes.end();
            out.push(b'}');
            serde_json::from_slice::<serde_json::Value>(&out).expect("JSON")
        };
        assert!(write(0)["attributes"].is_null());
        let all = write(2);
        let list = all["attributes"].as_array().expect("a list");
        assert_eq!(list.len(), 6);
        let long = list[0]["value"]["stringValue"].as_str().expect("a text");
        assert_eq!(long.len(), 4095, "whole characters of at most 4096 bytes");
        assert_eq!(list[5]["value"]["intValue"], u64::MAX.to_string());
    }
}

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

/// The lower eight digits of a number are those below this one.
pub const LOW: u64 = 100_000_000;

/// Returns a number in 19 digits, which nanoseconds since 1970 have until 2286. A higher digit is
/// dropped.
#[inline]
pub fn nanoseconds(number: u64) -> [u8; 19] {
    let mut text = [0; 19];
    let (high, low) = (number / LOW, number % LOW);
    let (highest, middle) = (high / LOW, high % LOW);
    text[..3].copy_from_slice(&eight_digits(highest % 1000)[5..]);
    text[3..11].copy_from_slice(&eight_digits(middle));
    text[11..].copy_from_slice(&eight_digits(low));
    text
}

/// Returns a number below 10^8 in eight digits, all of which are made at once: the number is split
/// into two, four and then eight lanes of one word, by multiplications in place of divisions.
#[inline]
pub fn eight_digits(number: u64) -> [u8; 8] {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = ((fours - 100 * hundreds) << 16) | hundreds;
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    let ones = ((twos - 10 * tens) << 8) | tens;
    (ones + 0x3030_3030_3030_3030).to_le_bytes()
}

/// The name of an attribute, as it stands before the value, or a whole attribute.
pub struct Key(pub &'static str);

/// Returns the key of an attribute that is a text.
macro_rules! text_key {
    ($name:literal) => {
        Key(concat!(
            ",{\"key\":\"",
            $name,
            "\",\"value\":{\"stringValue\":"
        ))
    };
}

/// Returns the key of an attribute that is a number, which OTLP's JSON has as a text.
macro_rules! number_key {
    ($name:literal) => {
        Key(concat!(
            ",{\"key\":\"",
            $name,
            "\",\"value\":{\"intValue\":"
        ))
    };
}

/// Returns a whole attribute that is always the same text.
macro_rules! fixed {
    ($name:literal, $value:literal) => {
        Key(concat!(
            ",{\"key\":\"",
            $name,
            "\",\"value\":{\"stringValue\":\"",
            $value,
            "\"}}"
        ))
    };
}

pub(super) use {fixed, number_key, text_key};

/// The member `attributes` of an object. Without an attribute there is no such member.
pub struct Attributes<'a> {
    out: &'a mut Vec<u8>,
    is_begun: bool,
}

impl<'a> Attributes<'a> {
    /// Begins the member of an object.
    #[inline]
    pub fn begin(out: &'a mut Vec<u8>) -> Attributes<'a> {
        Attributes {
            out,
            is_begun: false,
        }
    }

    /// Adds a text, or the beginning of a long one.
    pub fn text(&mut self, key: Key, value: &str) {
        self.key(key);
        text(self.out, cut(value));
        self.out.extend_from_slice(b"}}");
    }

    /// Adds a text of any bytes.
    pub fn bytes(&mut self, key: Key, value: &[u8]) {
        self.key(key);
        json_string(self.out, value);
        self.out.extend_from_slice(b"}}");
    }

    /// Adds a whole attribute.
    #[inline]
    pub fn fixed(&mut self, attribute: Key) {
        self.key(attribute);
    }

    /// Adds a text that needs no escapes.
    pub fn word(&mut self, key: Key, value: &str) {
        self.key(key);
        plain(self.out, value.as_bytes());
        self.out.extend_from_slice(b"}}");
    }

    pub fn number(&mut self, key: Key, value: impl Into<u64>) {
        self.key(key);
        plain(self.out, Decimal::new(value.into()).text());
        self.out.extend_from_slice(b"}}");
    }

    #[inline]
    fn key(&mut self, key: Key) {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.begin_list();
            // The comma is left out.
            return self.out.extend_from_slice(&key.0.as_bytes()[1..]);
        }
        self.out.extend_from_slice(key.0.as_bytes());
    }

    fn begin_list(&mut self) {
        if !self.out.ends_with(b"{") {
            self.out.push(b',');
        }
        self.out.extend_from_slice(b"\"attributes\":[");
    }

    #[inline]
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
        for number in [0, 7, 1_764_036_000_123_456_789, 9_999_999_999_999_999_999] {
            assert_eq!(nanoseconds(number), format!("{number:019}").as_bytes());
        }
        for number in (0..100_000_000).step_by(997).chain([99_999_999]) {
            assert_eq!(eight_digits(number), format!("{number:08}").as_bytes());
        }
    }

    #[test]
    fn attributes_are_a_list_or_nothing() {
        let write = |count: usize| {
            let mut out = b"{\"a\":1".to_vec();
            let mut attributes = Attributes::begin(&mut out);
            for _ in 0..count {
                attributes.text(text_key!("b.c"), &"é\"".repeat(3000));
                attributes.word(text_key!("d"), "e");
                attributes.fixed(fixed!("g", "h"));
                attributes.number(number_key!("f"), u64::MAX);
            }
            attributes.end();
            out.push(b'}');
            serde_json::from_slice::<serde_json::Value>(&out).expect("JSON")
        };
        assert!(write(0)["attributes"].is_null());
        let all = write(2);
        let list = all["attributes"].as_array().expect("a list");
        assert_eq!(list.len(), 8);
        let long = list[0]["value"]["stringValue"].as_str().expect("a text");
        assert_eq!(long.len(), 4095, "whole characters of at most 4096 bytes");
        assert_eq!(list[6]["value"]["stringValue"], "h");
        assert_eq!(list[7]["value"]["intValue"], u64::MAX.to_string());
    }
}

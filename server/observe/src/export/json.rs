//! Writes OTLP's JSON: objects and lists of attributes, straight into a buffer.

use crate::escape::{json_string, Decimal};
use std::io::Write;

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum AttributeValue {
    Text(String),
    Number(u64),
}

/// An attribute by its name.
pub type Attribute = (&'static str, AttributeValue);

pub fn text(name: &'static str, value: impl Into<String>) -> Attribute {
    (name, AttributeValue::Text(value.into()))
}

pub fn number(name: &'static str, value: impl Into<u64>) -> Attribute {
    (name, AttributeValue::Number(value.into()))
}

/// Writes `"name":`, after a comma unless the name is the first of its object. A name has nothing
/// that must be escaped.
pub fn name(out: &mut Vec<u8>, name: &'static str) {
    out.extend_from_slice(if out.ends_with(b"{") { b"\"" } else { b",\"" });
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

/// Writes a text that needs no escapes: digits, or a name.
pub fn plain(out: &mut Vec<u8>, of: &'static str, value: &[u8]) {
    name(out, of);
    out.push(b'"');
    out.extend_from_slice(value);
    out.push(b'"');
}

pub fn member(out: &mut Vec<u8>, of: &'static str, value: &str) {
    name(out, of);
    json_string(out, value.as_bytes());
}

/// Writes a number of 64 bits, which OTLP's JSON has as a text.
pub fn long(out: &mut Vec<u8>, of: &'static str, value: u64) {
    plain(out, of, Decimal::new(value).text());
}

pub fn attributes(out: &mut Vec<u8>, attributes: &[Attribute]) {
    name(out, "attributes");
    list(out, attributes, |out, (key, value)| {
        out.push(b'{');
        plain(out, "key", key.as_bytes());
        name(out, "value");
        out.push(b'{');
        match value {
            AttributeValue::Text(text) => member(out, "stringValue", text),
            AttributeValue::Number(number) => long(out, "intValue", *number),
        }
        out.extend_from_slice(b"}}");
    });
}

pub fn list<T>(out: &mut Vec<u8>, items: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

/// Writes a small number.
pub fn small(out: &mut Vec<u8>, of: &'static str, value: u8) {
    name(out, of);
    // A write into memory does not fail.
    let _ = write!(out, "{value}");
}

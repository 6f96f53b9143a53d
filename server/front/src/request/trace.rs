//! Checks and makes the field traceparent of W3C Trace Context: `00-<32 hex>-<16 hex>-<2 hex>`
//! (section 3.2). A client's value is kept. A missing value is made if the configuration says so.

use crate::request::{Fields, Request, Table};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

const NAME: &[u8] = b"traceparent";

/// Whether the value is valid, so that a program may forward it unchanged.
pub fn is_well_formed(text: &[u8]) -> bool {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == 55
        && text.iter().enumerate().all(|(at, byte)| match at {
            2 | 35 | 52 => *byte == b'-',
            _ => is_digit(byte),
        })
}

/// Whether the request has a valid traceparent.
pub fn has_trace(request: &Request<'_>) -> bool {
    request.field("traceparent").is_some_and(is_well_formed)
}

/// Makes a new value, with the recorded flag.
pub fn fresh(id: u64) -> Vec<u8> {
    // Each process has another random key, so two servers make different values.
    let random = RandomState::new();
    let [high, low, span] = [0u8, 1, 2].map(|part| random.hash_one((id, part)));
    // A span id of zero would be invalid.
    format!("00-{high:016x}{low:016x}-{:016x}-01", span.max(1)).into_bytes()
}

/// Returns the fields with this traceparent in place of the request's.
pub fn with_traceparent<'a>(fields: Fields<'a>, parent: &'a [u8]) -> Table<'a> {
    let others = fields
        .iter()
        .filter(|(name, _)| !name.eq_ignore_ascii_case(NAME));
    others.chain([(NAME, parent)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Field;

    #[test]
    fn what_is_made_is_well_formed_and_never_the_same() {
        let made: std::collections::HashSet<Vec<u8>> = (0..1000).map(|id| fresh(id / 2)).collect();
        assert_eq!(made.len(), 1000);
        assert!(made.iter().all(|parent| is_well_formed(parent)));
    }

    #[test]
    fn it_takes_the_place_of_what_was_none() {
        let fields: [Field; 3] = [(b"a", b"1"), (b"Traceparent", b"nonsense"), (b"b", b"2")];
        let parent = fresh(1);
        let table = with_traceparent(Fields::List(&fields), &parent);
        let names: Vec<&[u8]> = table.as_slice().iter().map(|(name, _)| *name).collect();
        assert_eq!(names, [&b"a"[..], b"b", NAME]);
    }
}

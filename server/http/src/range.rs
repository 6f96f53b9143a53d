//! Handles byte ranges (RFC 9110 section 14): parses, merges and bounds them, and lays them out as
//! one part or several parts.
//!
//! The handlers of files and the response cache call this module. They read the bytes of the parts
//! themselves.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

/// The largest number of ranges. No player or PDF reader requests more. A request for more ranges
/// gets the whole file.
const MOST: usize = 32;

/// The bytes `start..=end`, which lie inside the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub start: u64,
    pub end: u64,
}

/// Parses the ranges. Returns `None` if the field is ignored: it is malformed, has too many ranges,
/// or is not about byte ranges. An empty list means 416. Overlapping and adjacent ranges are
/// merged.
pub fn parse(field: &[u8], size: u64) -> Option<Vec<Range>> {
    let (unit, set) = field.split_at_checked(6)?;
    if !unit.eq_ignore_ascii_case(b"bytes=") {
        return None;
    }
    let mut ranges: Vec<Range> = Vec::new();
    let mut asked = false;
    for (count, text) in set.split(|&byte| byte == b',').enumerate() {
        if count >= MOST {
            return None;
        }
        let text = text.trim_ascii();
        // Empty list elements are ignored (RFC 9110 section 5.6.1.2).
        if text.is_empty() {
            continue;
        }
        asked = true;
        ranges.extend(satisfiable(text, size)?);
    }
    asked.then(|| merged(ranges))
}

/// Parses one range of the list. The outer `None` means a syntax error. The inner `None` means that
/// the range lies beyond the file.
fn satisfiable(text: &[u8], size: u64) -> Option<Option<Range>> {
    let dash = memchr::memchr(b'-', text)?;
    let (first, last) = (&text[..dash], &text[dash + 1..]);
    if first.is_empty() {
        let length = number(last)?.min(size);
        return Some((length > 0).then(|| Range {
            start: size - length,
            end: size - 1,
        }));
    }
    let start = number(first)?;
    let end = if last.is_empty() {
        u64::MAX
    } else {
        number(last)?
    };
    if end < start {
        return None;
    }
    Some((start < size).then(|| Range {
        start,
        end: end.min(size - 1),
    }))
}

fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let text = std::str::from_utf8(digits).ok()?;
    Some(text.parse().unwrap_or(u64::MAX))
}

/// Merges ranges. If none overlap, the ranges keep the order of the request. Otherwise they are in
/// file order.
fn merged(ranges: Vec<Range>) -> Vec<Range> {
    let mut sorted = ranges.clone();
    sorted.sort_by_key(|range| range.start);
    let mut merged: Vec<Range> = Vec::with_capacity(sorted.len());
    for range in sorted {
        match merged.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(1) => {
                last.end = last.end.max(range.end)
            }
            _ => merged.push(range),
        }
    }
    if merged.len() == ranges.len() {
        ranges
    } else {
        merged
    }
}

/// A part of a 206's body: a text (of a multipart boundary), and the piece of the representation
/// that follows the text. Positions and lengths are in bytes.
#[derive(Debug)]
pub struct RangePart {
    pub text: Vec<u8>,
    pub start: u64,
    pub length: u64,
}

impl RangePart {
    /// Makes a piece without a text before it.
    pub fn of(start: u64, length: u64) -> RangePart {
        RangePart {
            text: Vec::new(),
            start,
            length,
        }
    }
}

/// The representation of which ranges are sent.
pub struct RangeSource<'a> {
    pub size: u64,
    pub etag: &'a str,
    pub media_type: Option<&'a str>,
    /// The header lines for a single part. The next field is for several parts, which have no
    /// common type.
    pub lines: &'a [u8],
    pub shared: &'a [u8],
}

/// Returns the header line of a 416.
pub fn unsatisfied(size: u64) -> String {
    format!("Content-Range: bytes */{size}\r\n")
}

/// Returns the header lines and the parts of a 206.
pub fn parts(whole: &RangeSource<'_>, ranges: &[Range]) -> (Vec<u8>, Vec<RangePart>) {
    match ranges {
        [range] => {
            let mut lines = whole.lines.to_vec();
            lines.extend_from_slice(content_range(*range, whole.size).as_bytes());
            (lines, vec![part(Vec::new(), *range)])
        }
        _ => multipart(whole, ranges),
    }
}

fn multipart(whole: &RangeSource<'_>, ranges: &[Range]) -> (Vec<u8>, Vec<RangePart>) {
    let boundary = boundary(whole.etag);
    let mut lines = whole.shared.to_vec();
    let media_type = format!(
        "Accept-Ranges: bytes\r\nContent-Type: multipart/byteranges; boundary={boundary}\r\n"
    );
    lines.extend_from_slice(media_type.as_bytes());
    let mut parts: Vec<RangePart> = Vec::with_capacity(ranges.len() + 1);
    for range in ranges {
        let before = if parts.is_empty() { "" } else { "\r\n" };
        let mut text = format!("{before}--{boundary}\r\n");
        if let Some(media_type) = whole.media_type {
            text += &format!("Content-Type: {media_type}\r\n");
        }
        text += &content_range(*range, whole.size);
        text += "\r\n";
        parts.push(part(text.into_bytes(), *range));
    }
    parts.push(RangePart {
        text: format!("\r\n--{boundary}--\r\n").into_bytes(),
        start: 0,
        length: 0,
    });
    (lines, parts)
}

fn part(text: Vec<u8>, range: Range) -> RangePart {
    RangePart {
        text,
        start: range.start,
        length: range.end - range.start + 1,
    }
}

fn content_range(range: Range, size: u64) -> String {
    format!(
        "Content-Range: bytes {}-{}/{size}\r\n",
        range.start, range.end
    )
}

/// Makes a boundary that the author of the file cannot predict: a hash with a key of this process.
fn boundary(etag: &str) -> String {
    static KEY: OnceLock<RandomState> = OnceLock::new();
    let key = KEY.get_or_init(RandomState::new);
    format!("mehari{:016x}", key.hash_one(etag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(field: &str, size: u64) -> Option<Vec<(u64, u64)>> {
        let ranges = parse(field.as_bytes(), size)?;
        Some(
            ranges
                .into_iter()
                .map(|range| (range.start, range.end))
                .collect(),
        )
    }

    #[test]
    fn ranges_are_bounded_merged_or_refused() {
        type Spans = &'static [(u64, u64)];
        let cases: [(&str, Option<Spans>); 19] = [
            ("bytes=0-0", Some(&[(0, 0)])),
            ("bytes=0-", Some(&[(0, 99)])),
            ("bytes=-1", Some(&[(99, 99)])),
            ("bytes=-1000", Some(&[(0, 99)])),
            ("bytes=50-1000", Some(&[(50, 99)])),
            ("bytes=100-", Some(&[])),
            ("bytes=-0", Some(&[])),
            ("bytes=99999999999999999999999-", Some(&[])),
            ("bytes=0-1,4-5", Some(&[(0, 1), (4, 5)])),
            ("bytes=4-5, 0-1", Some(&[(4, 5), (0, 1)])),
            ("bytes=0-10,5-20", Some(&[(0, 20)])),
            ("bytes=0-10,11-20", Some(&[(0, 20)])),
            ("bytes=0-0,200-300", Some(&[(0, 0)])),
            ("bytes=5-1", None),
            ("bytes=a-b", None),
            ("bytes=", None),
            ("bytes=+1-2", None),
            ("lines=0-1", None),
            ("byte", None),
        ];
        for (field, expected) in cases {
            assert_eq!(ranges(field, 100).as_deref(), expected, "{field}");
        }
        assert_eq!(ranges("bytes=0-0", 0), Some(vec![]));
        let many: Vec<String> = (0..MOST + 1)
            .map(|at| format!("{}-{}", at * 2, at * 2))
            .collect();
        assert_eq!(ranges(&format!("bytes={}", many.join(",")), 1000), None);
    }
}

//! Handles byte ranges (RFC 9110 section 14): parses, merges and bounds them, and lays them out as
//! one part or several parts.
//!
//! The handlers of files and the response cache call this module. They read the bytes of the parts
//! themselves.

use mehari_config::RangeLimits;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

/// The bytes `start..=end`, which lie inside the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub start: u64,
    pub end: u64,
}

/// Parses the ranges as Apache does, except for what RFC 9110 allows and Apache ignores: white
/// space and empty elements in the list (section 5.6.1), numbers of any length, and `-0`, which no
/// content has (section 14.1.2). Returns `None` if the field is ignored: it is malformed, asks for
/// more than `limits` allow or for more bytes than there are, or is not about byte ranges. An empty
/// list means 416. A range that overlaps or adjoins the range before it is merged with it.
pub fn parse(field: &[u8], size: u64, limits: RangeLimits) -> Option<Vec<Range>> {
    let (unit, set) = field.split_at_checked(6)?;
    if size == 0 || !unit.eq_ignore_ascii_case(b"bytes=") {
        return None;
    }
    let (mut merging, mut lies_beyond) = (Merging::default(), false);
    for text in set.split(|&byte| byte == b',') {
        let text = text.trim_ascii();
        // Empty list elements are ignored (RFC 9110 section 5.6.1.2).
        if text.is_empty() {
            continue;
        }
        match asked(text, size)? {
            AskedRange::All => {
                merging.restart(Range {
                    start: 0,
                    end: size - 1,
                });
                break;
            }
            AskedRange::Beyond => lies_beyond = true,
            AskedRange::Bytes(range) => merging.add(range),
        }
    }
    let ranges = merging.finish(limits)?;
    let length: u64 = ranges.iter().map(Range::length).sum();
    let is_right = length <= size && (!ranges.is_empty() || lies_beyond);
    is_right.then_some(ranges)
}

/// One element of the list.
enum AskedRange {
    /// `0-`. All other elements are then ignored.
    All,
    Beyond,
    Bytes(Range),
}

/// Parses one element of the list. `None` means a syntax error.
fn asked(text: &[u8], size: u64) -> Option<AskedRange> {
    let dash = memchr::memchr(b'-', text)?;
    let (first, last) = (&text[..dash], &text[dash + 1..]);
    let (start, end) = if first.is_empty() {
        match number(last)? {
            0 => return Some(AskedRange::Beyond),
            length => (size.saturating_sub(length), size - 1),
        }
    } else {
        let start = number(first)?;
        match last {
            b"" if start == 0 => return Some(AskedRange::All),
            b"" => (start, size - 1),
            _ => (start, Some(number(last)?).filter(|&end| end >= start)?),
        }
    };
    Some(if start < size {
        AskedRange::Bytes(Range {
            start,
            end: end.min(size - 1),
        })
    } else {
        AskedRange::Beyond
    })
}

/// Reads a number of digits only.
fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    Some(text.parse().unwrap_or(u64::MAX))
}

/// Merges each range with the one before it, and counts.
#[derive(Default)]
struct Merging {
    done: Vec<Range>,
    last: Option<Range>,
    overlaps: u32,
    reversals: u32,
}

impl Merging {
    fn add(&mut self, range: Range) {
        let Some(last) = &mut self.last else {
            self.last = Some(range);
            return;
        };
        let mut merged = range.start >= last.start && range.end <= last.end;
        if range.start < last.start && range.end + 1 >= last.start {
            last.start = range.start;
            self.reversals += 1;
            merged = true;
        }
        if range.end >= last.end && range.start <= last.end + 1 {
            last.end = range.end;
            merged = true;
        }
        if merged {
            self.overlaps += 1;
        } else {
            self.done.push(std::mem::replace(last, range));
        }
    }

    /// Forgets all ranges before this one.
    fn restart(&mut self, range: Range) {
        self.done.clear();
        self.last = Some(range);
    }

    /// Returns the ranges, unless they are beyond a limit.
    fn finish(mut self, limits: RangeLimits) -> Option<Vec<Range>> {
        self.done.extend(self.last);
        let is_within = |count: u32, limit: Option<u32>| limit.is_none_or(|limit| count <= limit);
        let count = u32::try_from(self.done.len()).unwrap_or(u32::MAX);
        let all = is_within(count, limits.ranges)
            && is_within(self.overlaps, limits.overlaps)
            && is_within(self.reversals, limits.reversals);
        all.then_some(self.done)
    }
}

impl Range {
    fn length(&self) -> u64 {
        self.end - self.start + 1
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
    /// The header lines of the whole representation.
    pub lines: &'a [u8],
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
    let media_type = format!("multipart/byteranges; boundary={boundary}");
    let lines = with_media_type(whole.lines, media_type.as_bytes());
    let mut parts: Vec<RangePart> = Vec::with_capacity(ranges.len() + 1);
    for range in ranges {
        let before = if parts.is_empty() { "" } else { "\r\n" };
        let mut text = format!("{before}--{boundary}");
        if let Some(media_type) = whole.media_type {
            text += &format!("{TYPE_OF_PART}{media_type}");
        }
        text += "\r\n";
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

const TYPE_OF_PART: &str = "\r\nContent-Type: ";

/// Returns the media type of the representation from the first text of a body with several parts.
/// Empty: the representation has no media type.
pub fn type_of_parts(text: &[u8]) -> &[u8] {
    let first = memchr::memchr(b'\r', text).unwrap_or(text.len());
    let said = text[first..].strip_prefix(TYPE_OF_PART.as_bytes());
    let said = said.unwrap_or_default();
    &said[..memchr::memchr(b'\r', said).unwrap_or(said.len())]
}

/// Returns the header lines with this media type. Empty: without a media type.
pub fn with_media_type(lines: &[u8], media_type: &[u8]) -> Vec<u8> {
    let mut changed = Vec::with_capacity(lines.len() + media_type.len());
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        let name = line.split(|&byte| byte == b':').next().unwrap_or(line);
        if !name.eq_ignore_ascii_case(b"content-type") {
            changed.extend_from_slice(line);
        }
    }
    if !media_type.is_empty() {
        let line = [b"Content-Type: ", media_type, b"\r\n"].concat();
        changed.extend_from_slice(&line);
    }
    changed
}

fn part(text: Vec<u8>, range: Range) -> RangePart {
    RangePart {
        text,
        start: range.start,
        length: range.length(),
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

    #[test]
    fn several_ranges_have_the_fields_of_the_whole_and_a_type_of_their_own() {
        for media_type in [Some("text/plain"), None] {
            let whole = RangeSource {
                size: 10,
                etag: "\"a\"",
                media_type,
                lines: b"ETag: \"a\"\r\ncontent-type: text/plain\r\nContent-Language: de\r\n",
            };
            let ranges = [(0, 1), (4, 5)].map(|(start, end)| Range { start, end });
            let (lines, parts) = super::parts(&whole, &ranges);
            let lines = String::from_utf8(lines).expect("ASCII");
            let kept = "ETag: \"a\"\r\nContent-Language: de\r\nContent-Type: multipart/byteranges;";
            assert!(lines.starts_with(kept), "{lines}");
            let said = type_of_parts(&parts[0].text);
            assert_eq!(said, media_type.unwrap_or_default().as_bytes());
        }
    }

    type Spans = Vec<(u64, u64)>;

    fn ranges_within(field: &str, size: u64, limits: RangeLimits) -> Option<Spans> {
        let ranges = parse(field.as_bytes(), size, limits)?;
        let spans = ranges.into_iter().map(|range| (range.start, range.end));
        Some(spans.collect())
    }

    fn ranges(field: &str, size: u64) -> Option<Spans> {
        ranges_within(field, size, RangeLimits::default())
    }

    #[test]
    fn ranges_are_bounded_merged_or_refused() {
        type Spans = &'static [(u64, u64)];
        let cases: [(&str, Option<Spans>); 31] = [
            ("bytes=0-0", Some(&[(0, 0)])),
            ("bytes=0-", Some(&[(0, 99)])),
            ("bytes=5-6,0-,9-9", Some(&[(0, 99)])),
            ("bytes=-1", Some(&[(99, 99)])),
            ("bytes=-1000", Some(&[(0, 99)])),
            ("bytes=50-1000", Some(&[(50, 99)])),
            ("bytes=100-", Some(&[])),
            ("bytes=-0", Some(&[])),
            ("bytes=-", None),
            ("bytes=99999999999999999999999-", Some(&[])),
            ("bytes=90-99999999999999999999999", Some(&[(90, 99)])),
            ("bytes=0-1,4-5", Some(&[(0, 1), (4, 5)])),
            ("bytes=0-1,,4-5,", Some(&[(0, 1), (4, 5)])),
            ("bytes=,0-1", Some(&[(0, 1)])),
            ("bytes=4-5,0-1", Some(&[(4, 5), (0, 1)])),
            ("bytes=4-5, 0-1", Some(&[(4, 5), (0, 1)])),
            ("bytes=0-1 ,4-5", Some(&[(0, 1), (4, 5)])),
            ("bytes=0-10,5-20", Some(&[(0, 20)])),
            ("bytes=5-20,0-10", Some(&[(0, 20)])),
            ("bytes=0-10,11-20", Some(&[(0, 20)])),
            ("bytes=0-1,4-5,1-2", Some(&[(0, 1), (4, 5), (1, 2)])),
            ("bytes=0-60,70-99,0-60", None),
            ("bytes=0-0,200-300", Some(&[(0, 0)])),
            ("bytes=5-1", None),
            ("bytes=a-b", None),
            ("bytes=", None),
            ("bytes=+1-2", None),
            ("bytes=0--1", None),
            ("bytes=--1", None),
            ("lines=0-1", None),
            ("byte", None),
        ];
        for (field, expected) in cases {
            assert_eq!(ranges(field, 100).as_deref(), expected, "{field}");
        }
        assert_eq!(ranges("bytes=0-0", 0), None);
    }

    #[test]
    fn requests_beyond_a_limit_are_ignored() {
        let many = |count: u64| {
            let each: Vec<String> = (0..count).map(|at| format!("{0}-{0}", at * 2)).collect();
            format!("bytes={}", each.join(","))
        };
        assert_eq!(ranges(&many(200), 1000).map(|found| found.len()), Some(200));
        assert_eq!(ranges(&many(201), 1000), None);
        let limits = |ranges, overlaps, reversals| RangeLimits {
            ranges,
            overlaps,
            reversals,
        };
        let within = |field: &str, limits| ranges_within(field, 1000, limits).is_some();
        assert!(within(&many(300), limits(None, None, None)));
        assert!(!within("bytes=0-0", limits(Some(0), None, None)));
        assert!(within("bytes=5000-", limits(Some(0), None, None)));
        let overlapping = "bytes=10-20,15-30,5-12";
        assert!(within(overlapping, limits(Some(1), Some(2), Some(1))));
        assert!(!within(overlapping, limits(None, Some(1), None)));
        assert!(!within(overlapping, limits(None, None, Some(0))));
    }
}

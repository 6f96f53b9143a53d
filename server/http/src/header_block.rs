//! Checks a program's header lines once more before they reach a client.
//!
//! The pool and the CGI handler check the lines too. This last check ensures that no program can
//! split its response into two (response splitting).

use crate::token::is_token_byte;
use http::{HeaderMap, HeaderName, HeaderValue};
use smallvec::SmallVec;
use std::ops::Range;

/// What a block of lines contains. Each line has the form `Name: value\r\n`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HeaderBlock {
    /// The lines about the connection, in order. A program may not set these lines.
    pub dropped: SmallVec<[Range<usize>; 2]>,
    pub content_length: Option<u64>,
    pub location: Option<Range<usize>>,
    /// The value of Last-Modified. The next field is the value of ETag.
    pub modified: Option<Range<usize>>,
    pub tag: Option<Range<usize>>,
    /// The number of Vary fields.
    pub vary_fields: usize,
    /// The values of X-Cache-Purge. They name pages that the response cache must forget.
    pub purge: Vec<Range<usize>>,
    /// The value of a field that names a file to send. The field stays in the response, because it
    /// may be meant for another server between this server and the client.
    pub send_file: Option<(Named, Range<usize>)>,
}

/// How a response names a file to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// By the path of the file: X-Sendfile, X-LIGHTTPD-send-file.
    File,
    /// By a URL path: X-Accel-Redirect.
    Path,
}

/// Appends the lines as HTTP/2 fields, without fields about the connection and without invalid
/// fields.
pub fn push_fields(fields: &mut HeaderMap, block: &[u8]) {
    for line in block.split_inclusive(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r\n").unwrap_or(line);
        let Some(colon) = memchr::memchr(b':', line) else {
            continue;
        };
        let name = HeaderName::from_bytes(&line[..colon]);
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value), false) = (name, value, is_of_connection(&line[..colon])) {
            // An error means that there are more fields than any client reads. The remaining fields
            // are dropped.
            let _ = fields.try_append(name, value);
        }
    }
}

/// Returns whether a field is about the connection (RFC 9113 section 8.2.2).
fn is_of_connection(name: &[u8]) -> bool {
    let known: &[&[u8]] = match name.len() {
        2 => &[b"te"],
        7 => &[b"upgrade"],
        10 => &[b"connection", b"keep-alive"],
        16 => &[b"proxy-connection"],
        17 => &[b"transfer-encoding"],
        _ => &[],
    };
    known.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Examines a block of lines. A line is invalid if it has a control character, a name that is not a
/// token, or a length that is not a number.
///
/// # Errors
///
/// The fault of the first invalid line.
pub fn validate(block: &[u8]) -> Result<HeaderBlock, &'static str> {
    let mut lines = HeaderBlock::default();
    let mut start = 0;
    while start < block.len() {
        let line = &block[start..];
        let length = memchr::memchr(b'\n', line).ok_or("a header line without an end")?;
        let Some(text) = line[..length].strip_suffix(b"\r") else {
            return Err("a line feed inside a header line");
        };
        let next = start + length + 1;
        let colon = name_length(text)?;
        check_value(&text[colon + 1..])?;
        note(&mut lines, text, colon, start..next)?;
        start = next;
    }
    Ok(lines)
}

/// Returns the length of the name before the colon.
fn name_length(text: &[u8]) -> Result<usize, &'static str> {
    let end = text.iter().position(|&byte| !is_token_byte(byte));
    match end.map(|end| (end, text[end])) {
        None => Err("a header line without a colon"),
        Some((1.., b':')) => Ok(end.unwrap_or_default()),
        Some(_) => Err("a header name that is not a token"),
    }
}

/// Checks a value. The only control character in it may be the tab (RFC 9110 section 5.5).
fn check_value(value: &[u8]) -> Result<(), &'static str> {
    let mut words = value.chunks_exact(8);
    let mut may_hold_one = false;
    for word in &mut words {
        may_hold_one |= holds_control(u64::from_ne_bytes(word.try_into().unwrap_or_default()));
    }
    let rest = if may_hold_one {
        value
    } else {
        words.remainder()
    };
    if rest.iter().any(|&byte| is_control(byte)) {
        Err("a control character inside a header line")
    } else {
        Ok(())
    }
}

fn is_control(byte: u8) -> bool {
    byte < b' ' && byte != b'\t' || byte == 0x7f
}

/// Returns whether one of the eight bytes is a control character: below 0x20, which includes the
/// tab, or 0x7f. Such a byte borrows in the subtraction. Its top bit is then set, although it was
/// not set before.
fn holds_control(word: u64) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const TOPS: u64 = u64::from_ne_bytes([0x80; 8]);
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & TOPS != 0;
    below(word, 0x20) | below(word ^ (ONES * 0x7f), 1)
}

fn note(
    lines: &mut HeaderBlock,
    text: &[u8],
    colon: usize,
    whole: Range<usize>,
) -> Result<(), &'static str> {
    let is = |name: &[u8]| text[..colon].eq_ignore_ascii_case(name);
    match colon {
        13 if is(b"x-cache-purge") => {
            lines.purge.push(value_of(text, colon, whole.end));
            lines.dropped.push(whole);
        }
        14 if is(b"content-length") => {
            let value = text[colon + 1..].trim_ascii();
            let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
            let value = std::str::from_utf8(value).ok().filter(|_| digits);
            let length = value.and_then(|value| value.parse().ok());
            let length = length.ok_or("a Content-Length that is not a number")?;
            if lines
                .content_length
                .replace(length)
                .is_some_and(|known| known != length)
            {
                return Err("two different Content-Length fields");
            }
            lines.dropped.push(whole);
        }
        10 if is(b"x-sendfile") => send_file(lines, text, colon, whole.end, Named::File),
        16 if is(b"x-accel-redirect") => send_file(lines, text, colon, whole.end, Named::Path),
        20 if is(b"x-lighttpd-send-file") => send_file(lines, text, colon, whole.end, Named::File),
        8 if is(b"location") => lines.location = Some(value_of(text, colon, whole.end)),
        13 if is(b"last-modified") => lines.modified = Some(value_of(text, colon, whole.end)),
        4 if is(b"vary") => lines.vary_fields += 1,
        4 if is(b"etag") => lines.tag = Some(value_of(text, colon, whole.end)),
        _ if is_of_connection(&text[..colon]) => lines.dropped.push(whole),
        _ => {}
    }
    Ok(())
}

fn send_file(lines: &mut HeaderBlock, text: &[u8], colon: usize, end: usize, named: Named) {
    lines.send_file = Some((named, value_of(text, colon, end)));
}

/// Returns the range of the value without surrounding blanks. The line ends at `end`, which
/// includes CR and LF.
fn value_of(text: &[u8], colon: usize, end: usize) -> Range<usize> {
    let value = &text[colon + 1..];
    let end = end - 2 - (value.len() - value.trim_ascii_end().len());
    end - value.trim_ascii().len()..end
}

impl HeaderBlock {
    /// Appends the block without the dropped lines.
    pub fn push_kept(&self, block: &[u8], into: &mut Vec<u8>) {
        let mut start = 0;
        for dropped in &self.dropped {
            into.extend_from_slice(&block[start..dropped.start]);
            start = dropped.end;
        }
        into.extend_from_slice(&block[start..]);
    }

    /// Returns the block without the dropped lines. If at most one line was dropped, which is
    /// usual, the result consists of slices of the block. Otherwise the result is a copy in
    /// `store`.
    pub fn kept<'b>(&self, block: &'b [u8], store: &'b mut Vec<u8>) -> [&'b [u8]; 2] {
        match &self.dropped[..] {
            [] => [block, &[]],
            [one] => [&block[..one.start], &block[one.end..]],
            _ => {
                self.push_kept(block, store);
                [store, &[]]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_could_split_a_response_is_refused() {
        let cases: [&[u8]; 10] = [
            b"A: b\nC: d\r\n",
            b"A: b\rC: d\r\n",
            b"A: b\0\r\n",
            b"A: b\r\n\r\n",
            b"A b: c\r\n",
            b": c\r\n",
            b"A\r\n",
            b"A: b",
            b"Content-Length: x\r\n",
            b"Content-Length: 1\r\nContent-Length: 2\r\n",
        ];
        for block in cases {
            assert!(validate(block).is_err(), "{}", block.escape_ascii());
        }
    }

    #[test]
    fn only_control_characters_are_refused_at_every_position() {
        // Miri takes an hour for all lengths.
        let step = if cfg!(miri) { 13 } else { 1 };
        for length in (0..40).step_by(step) {
            for other in [b'a', b' ', b'\t', 0x7e, 0x80, 0x8d, 0xff] {
                let value = vec![other; length];
                assert_eq!(check_value(&value), Ok(()), "{length} x {other}");
                for at in 0..length {
                    for byte in [0, 1, b'\n', b'\r', 0x1f, 0x7f] {
                        let mut value = value.clone();
                        value[at] = byte;
                        assert!(check_value(&value).is_err(), "{byte} at {at} of {length}");
                    }
                }
            }
        }
    }

    #[test]
    fn fields_that_http2_forbids_are_left_out() {
        let block = b"A: b\r\nConnection: close\r\nKeep-Alive: 1\r\nTE: x\r\nUpgrade: x\r\n\
            Proxy-Connection: x\r\nTransfer-Encoding: chunked\r\nX: a\x01\r\nX Y: z\r\nno field\r\nB: c\r\n";
        let mut fields = HeaderMap::new();
        push_fields(&mut fields, block);
        let names: Vec<&str> = fields.keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn lines_about_the_connection_are_dropped_and_known_lines_are_noted() {
        let block =
            b"A: b\r\nContent-Length: 12\r\nX: y\r\nConnection: close\r\nLocation:  /x \r\n";
        let lines = validate(block).expect("valid");
        assert_eq!(lines.content_length, Some(12));
        assert_eq!(
            lines.location.clone().map(|span| &block[span]),
            Some(&b"/x"[..])
        );
        let mut kept = Vec::new();
        lines.push_kept(block, &mut kept);
        assert_eq!(kept, b"A: b\r\nX: y\r\nLocation:  /x \r\n");
        for block in [&b"A: b\r\n"[..], b"Content-Length: 1\r\nA: b\r\n", block] {
            let lines = validate(block).expect("valid");
            let (mut whole, mut store) = (Vec::new(), Vec::new());
            lines.push_kept(block, &mut whole);
            assert_eq!(lines.kept(block, &mut store).concat(), whole);
        }
    }
}

//! The lines of a request head, taken apart byte by byte as RFC 9112 writes them: no folding, no blank before a colon,
//! one blank between the words of the request line.
//!
//! `head` asks for each line that `scan` has found, without its CR LF. What the words mean is its own business.

use super::head::Version;
use crate::problem::{bad, Problem};
use mehari_pool::script_head::is_token_byte;

/// `method SP target SP version`.
#[derive(Debug, PartialEq, Eq)]
pub struct RequestLine<'l> {
    pub method: &'l [u8],
    pub target: &'l [u8],
    pub version: Version,
}

pub fn request_line(line: &[u8]) -> Result<RequestLine<'_>, Problem> {
    right_line(line).ok_or_else(|| problem_of(line))
}

fn right_line(line: &[u8]) -> Option<RequestLine<'_>> {
    let (words, version) = line.split_last_chunk()?;
    let version = match version {
        b" HTTP/1.1" => Version::Http11,
        b" HTTP/1.0" => Version::Http10,
        _ => return None,
    };
    let (method, target) = word(words, is_token_byte)?;
    let is_target = !target.is_empty() && all(target, is_target_byte);
    let is_text = target.is_ascii() || std::str::from_utf8(target).is_ok();
    (is_target && is_text).then_some(RequestLine {
        method,
        target,
        version,
    })
}

/// The first thing that is wrong with a request line, which is not a right one.
fn problem_of(line: &[u8]) -> Problem {
    const PROBLEM: Problem = bad("the request line is not method, target, version");
    let Some((_, rest)) = word(line, is_token_byte) else {
        return beginning(line, PROBLEM);
    };
    match word(rest, is_target_byte) {
        None => PROBLEM,
        Some((target, _)) if std::str::from_utf8(target).is_err() => PROBLEM,
        Some((_, rest)) if rest.starts_with(b"HTTP/1.1") || rest.starts_with(b"HTTP/1.0") => {
            NO_LINE_FEED
        }
        _ if names_other_version(line) => {
            Problem::malformed(505, "an HTTP version we do not speak")
        }
        _ => bad("the version is not HTTP/1.0 or HTTP/1.1"),
    }
}

const NO_LINE_FEED: Problem = bad("a line ends without CR LF");

/// What `belongs` up to the blank behind it, which is there, and the rest.
fn word(text: &[u8], belongs: impl Fn(u8) -> bool) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|&byte| !belongs(byte))?;
    (end > 0 && text[end] == b' ').then(|| (&text[..end], &text[end + 1..]))
}

/// What is wrong with the first word: where a CR begins the line, that.
fn beginning(line: &[u8], problem: Problem) -> Problem {
    match line.first() {
        Some(b'\r') => NO_LINE_FEED,
        _ => problem,
    }
}

/// `HTTP/digit.digit` as the third word.
fn names_other_version(line: &[u8]) -> bool {
    let line = line.split(|&byte| byte == b'\r').next().unwrap_or(line);
    let Some(tail) = line.len().checked_sub(9).map(|at| &line[at..]) else {
        return false;
    };
    let words = line.iter().filter(|&&byte| byte == b' ').count() == 2;
    let digits = tail[6].is_ascii_digit() && tail[7] == b'.' && tail[8].is_ascii_digit();
    words && digits && tail.starts_with(b" HTTP/")
}

/// `name ":" value`, without the blanks around the value.
pub fn field_line(line: &[u8]) -> Result<(&[u8], &[u8]), Problem> {
    let end = line.iter().position(|&byte| !is_token_byte(byte));
    let Some(end) = end.filter(|&end| end > 0 && line[end] == b':') else {
        return Err(beginning(line, bad("a header name is not a token")));
    };
    let value = &line[end + 1..];
    if !all(value, is_value_byte) {
        return Err(bad("a header value has a control byte"));
    }
    Ok((&line[..end], without_blanks(value)))
}

/// A slice of `value` in any case: its place counts.
fn without_blanks(value: &[u8]) -> &[u8] {
    let is_dark = |byte: &u8| !matches!(byte, b' ' | b'\t');
    let start = value.iter().position(is_dark).unwrap_or(value.len());
    let end = value.iter().rposition(is_dark);
    &value[start..end.map_or(start, |last| last + 1)]
}

fn is_target_byte(byte: u8) -> bool {
    byte > b' ' && byte != 0x7f
}

/// Everything but control bytes; a tab is none.
fn is_value_byte(byte: u8) -> bool {
    byte >= b' ' && byte != 0x7f || byte == b'\t'
}

/// Whether all bytes are such as fit: eight at a time, which processors compare at once, and the last eight once more
/// instead of what is left one by one.
pub fn all(bytes: &[u8], fits: impl Fn(u8) -> bool) -> bool {
    let fit = |word: &[u8; 8]| word.iter().fold(true, |all, &byte| all & fits(byte));
    match bytes.last_chunk() {
        Some(last) => fit(last) && bytes.as_chunks().0.iter().all(fit),
        None => bytes.iter().all(|&byte| fits(byte)),
    }
}

#[cfg(test)]
mod tests;

//! Parses the header block that a script prints: CGI/1.1 (RFC 3875 section 6), read as Apache reads
//! it.
//!
//! The functions work on bytes: the caller collects output until [`end`] finds the empty line, then
//! [`parse`] makes a [`Head`] that is safe to send. Both CGI programs and scripts in workers print
//! such a block.

use crate::{Declined, Head, Reason};
use mehari_http::token::is_token_byte;
use std::fmt;

/// The longest header block, including its empty line.
pub const LONGEST: usize = 64 * 1024;

/// What a script's header block asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptHead {
    /// A response with this head.
    Response(Head),
    /// `Location: /path?query` without a status: the server responds with that resource instead
    /// (RFC 3875 section 6.2.2). The caller limits the number of redirects.
    ///
    /// As in Apache, the script's other fields (`lines`) are added to that response.
    LocalRedirect { target: Vec<u8>, lines: Vec<u8> },
    /// Perl's handlers have run, and the front responds.
    Declined(Box<Declined>),
    /// The worker waits for rules that read the request after Perl's handlers (a constant of
    /// [`crate::left`]): [`crate::WorkerExchange::answer_rules`]. The head follows.
    Rules(u16),
}

impl ScriptHead {
    /// Makes a redirect to another local resource. Fields about the script's own body are dropped.
    pub fn internal_redirect(target: Vec<u8>, lines: &[u8]) -> ScriptHead {
        const OF_BODY: [&str; 6] = [
            "Location",
            "Content-Type",
            "Content-Length",
            "Last-Modified",
            "ETag",
            "Status",
        ];
        let is_of_body = |line: &[u8]| {
            let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
            let is = |known: &&str| name.eq_ignore_ascii_case(known.as_bytes());
            OF_BODY.iter().any(is)
        };
        let lines = lines.split_inclusive(|byte| *byte == b'\n');
        let kept = lines.filter(|line| !is_of_body(line));
        ScriptHead::LocalRedirect {
            target,
            lines: kept.flatten().copied().collect(),
        }
    }

    /// Turns a local redirect into one for the client, for callers that cannot answer with another
    /// resource.
    pub fn into_response(self) -> Head {
        match self {
            ScriptHead::Response(head) => head,
            ScriptHead::LocalRedirect { target, lines } => Head {
                status: 302,
                lines: [&lines[..], b"Location: ", &target, b"\r\n"].concat(),
                ..Head::default()
            },
            ScriptHead::Declined(declined) => Head {
                status: declined.status,
                lines: declined.lines,
                ..Head::default()
            },
            ScriptHead::Rules(_) => Head::default(),
        }
    }
}

/// The expected first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Header fields, optionally after a status line.
    Parsed,
    /// `nph-` scripts: a status line, then header fields.
    StatusLine,
}

/// Why a header block is refused. Texts are cut to a log line's length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Malformed {
    /// A line that is not `Name: value`, or whose name is not a token.
    Line(Vec<u8>),
    /// The name of a field with a control character in its value.
    Control(Vec<u8>),
    /// A field that may stand only once is repeated.
    Twice(&'static str),
    /// `Status:` or the status line has no final status, 200 to 599.
    Status(Vec<u8>),
    ContentLength(Vec<u8>),
    /// `Transfer-Encoding` other than identity, because the server does the framing.
    TransferEncoding(Vec<u8>),
    /// The output of an `nph-` script does not begin with `HTTP/`.
    NoStatusLine(Vec<u8>),
    TooLarge,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match self {
            Malformed::Line(line) => write!(f, "expected `Name: value`, got `{}`", text(line)),
            Malformed::Control(name) => {
                write!(f, "the value of {} holds a control character", text(name))
            }
            Malformed::Twice(name) => write!(f, "{name} came twice"),
            Malformed::Status(value) => {
                write!(
                    f,
                    "expected a status from 200 to 599, got `{}`",
                    text(value)
                )
            }
            Malformed::ContentLength(value) => write!(
                f,
                "expected a number for Content-Length, got `{}`",
                text(value)
            ),
            Malformed::TransferEncoding(value) => write!(
                f,
                "expected no Transfer-Encoding, because the server frames the body, got `{}`",
                text(value)
            ),
            Malformed::NoStatusLine(line) => write!(
                f,
                "an nph- script starts with `HTTP/1.1 200 OK`, got `{}`",
                text(line)
            ),
            Malformed::TooLarge => write!(f, "the header block is longer than {LONGEST} bytes"),
        }
    }
}

/// Returns the offset after the empty line that ends the header block. `from`: the number of bytes
/// already searched.
pub fn end(bytes: &[u8], from: usize) -> Option<usize> {
    match bytes {
        [b'\n', ..] => return Some(1),
        [b'\r', b'\n', ..] => return Some(2),
        _ => {}
    }
    // The previous read may have cut the end, so the search starts two bytes earlier.
    let mut at = from.saturating_sub(2);
    while let Some(newline) = memchr::memchr(b'\n', &bytes[at..]) {
        at += newline + 1;
        match bytes[at..] {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
    None
}

/// Parses a whole header block, which ends with its empty line.
///
/// # Errors
///
/// [`Malformed`] if the block is too large, or if a line is no header line or may not be sent.
pub fn parse(block: &[u8], form: Form) -> Result<ScriptHead, Malformed> {
    if block.len() > LONGEST {
        return Err(Malformed::TooLarge);
    }
    let mut lines = lines(block).peekable();
    let mut fields = Fields::default();
    fields.head.lines.reserve(block.len());
    match lines.peek() {
        Some(first) if first.starts_with(b"HTTP/") => {
            fields.status = Some(status_line(first)?);
            fields.head.reason = first
                .get(9..)
                .and_then(|line| Reason::read(line.trim_ascii()));
            lines.next();
        }
        first if form == Form::StatusLine => {
            return Err(Malformed::NoStatusLine(shown(
                first.copied().unwrap_or_default(),
            )))
        }
        _ => {}
    }
    for line in lines {
        fields.add(line)?;
    }
    Ok(fields.finish(form))
}

/// Returns the lines before the empty line, without LF or CRLF.
fn lines(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    block
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .take_while(|line| !line.is_empty())
}

#[derive(Default)]
struct Fields {
    head: Head,
    status: Option<u16>,
    content_type: bool,
    location: Option<Vec<u8>>,
}

impl Fields {
    fn add(&mut self, line: &[u8]) -> Result<(), Malformed> {
        let (name, value) = check_field(line)?;
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        match name.len() {
            4 if is("Date") => self.head.has_date = true,
            6 if is("Server") => self.head.has_server = true,
            6 if is("Status") => {
                let status = three_digits(value).ok_or_else(|| Malformed::Status(shown(value)))?;
                self.status = Some(status);
                self.head.reason = Reason::read(value);
                return Ok(());
            }
            8 if is("Location") => {
                let before = self.location.replace(value.to_vec());
                self.replace("Location", before.is_some());
            }
            12 if is("Content-Type") => {
                let before = std::mem::replace(&mut self.content_type, true);
                self.replace("Content-Type", before);
            }
            14 if is("Content-Length") => {
                let length = number(value).ok_or_else(|| Malformed::ContentLength(shown(value)))?;
                let before = self.head.content_length.replace(length);
                let differs = before.is_some_and(|before| before != length);
                refuse_repetition("Content-Length", differs)?;
                if before.is_some() {
                    return Ok(());
                }
            }
            17 if is("Transfer-Encoding") && !value.eq_ignore_ascii_case(b"identity") => {
                return Err(Malformed::TransferEncoding(shown(value)));
            }
            _ if CONNECTION.iter().any(|&known| is(known)) => return Ok(()),
            _ => {}
        }
        let lines = &mut self.head.lines;
        for part in [name, b": ", value, b"\r\n"] {
            lines.extend_from_slice(part);
        }
        Ok(())
    }

    /// Drops the earlier line of a field whose last value counts, as in Apache.
    fn replace(&mut self, name: &str, came_before: bool) {
        if !came_before {
            return;
        }
        let is_other = |line: &&[u8]| {
            let own = line.split(|&byte| byte == b':').next();
            !own.is_some_and(|own| own.eq_ignore_ascii_case(name.as_bytes()))
        };
        let lines = self.head.lines.split_inclusive(|&byte| byte == b'\n');
        self.head.lines = lines.filter(is_other).flatten().copied().collect();
    }

    /// Applies Apache's rule: a Location without a status, or with 200, is a redirect. If it starts
    /// with `/`, the redirect is local.
    fn finish(mut self, form: Form) -> ScriptHead {
        let mut status = self.status.unwrap_or(200);
        if let (200, Some(location), Form::Parsed) = (status, self.location, form) {
            if location.first() == Some(&b'/') {
                return ScriptHead::internal_redirect(location, &self.head.lines);
            }
            status = 302;
            self.head.is_redirect = true;
        }
        self.head.may_be_conditional = self.status.is_none() && status == 200;
        self.head.status = status;
        ScriptHead::Response(self.head)
    }
}

/// Fields about the connection, which are dropped because the server sends its own.
const CONNECTION: [&str; 6] = [
    "Connection",
    "Keep-Alive",
    "Proxy-Connection",
    "Transfer-Encoding",
    "Upgrade",
    "Trailer",
];

fn refuse_repetition(name: &'static str, again: bool) -> Result<(), Malformed> {
    if again {
        return Err(Malformed::Twice(name));
    }
    Ok(())
}

/// Splits a line into name and value and strips the value's blanks.
pub(crate) fn check_field(line: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let colon = memchr::memchr(b':', line).ok_or_else(|| Malformed::Line(shown(line)))?;
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    if name.is_empty() || !name.iter().all(|&byte| is_token_byte(byte)) {
        return Err(Malformed::Line(shown(line)));
    }
    if value
        .iter()
        .any(|&byte| byte != b'\t' && (byte < b' ' || byte == 0x7f))
    {
        return Err(Malformed::Control(shown(name)));
    }
    Ok((name, value))
}

/// Reads the status from a status line such as `HTTP/1.0 200 OK`.
fn status_line(line: &[u8]) -> Result<u16, Malformed> {
    let refuse = || Malformed::Status(shown(line));
    let rest = line.strip_prefix(b"HTTP/").ok_or_else(refuse)?;
    let space = memchr::memchr(b' ', rest).ok_or_else(refuse)?;
    let digit_or_dot = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    if space == 0 || !rest[..space].iter().all(digit_or_dot) {
        return Err(refuse());
    }
    three_digits(rest[space..].trim_ascii()).ok_or_else(refuse)
}

/// Reads a final status that stands alone or before a blank and the reason.
fn three_digits(value: &[u8]) -> Option<u16> {
    let (digits, rest) = value.split_at_checked(3)?;
    if !matches!(rest.first(), None | Some(b' ' | b'\t')) {
        return None;
    }
    let status = number(digits)? as u16;
    (200..=599).contains(&status).then_some(status)
}

/// Reads a number of digits only. A length in bytes is at most that of the largest file.
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: i64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    u64::try_from(number).ok()
}

/// Cuts a text to a log line's length.
pub(crate) fn shown(bytes: &[u8]) -> Vec<u8> {
    bytes[..bytes.len().min(100)].to_vec()
}

#[cfg(test)]
mod tests;

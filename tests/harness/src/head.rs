//! Parses the head of a response as strictly as RFC 9112 defines it.

use crate::Answer;
use std::io;

/// Parses a response's head. `head` is everything before the blank line.
pub(crate) fn parse_head(head: &[u8]) -> io::Result<Answer> {
    let mut lines = head.split(|&byte| byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let (protocol, status, reason) = parse_status_line(first.strip_suffix(b"\r").unwrap_or(first))?;
    let mut fields = Vec::new();
    for line in lines {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        fields.push(parse_field(line)?);
    }
    Ok(Answer {
        protocol,
        status,
        reason,
        fields,
        body: Vec::new(),
        interim: Vec::new(),
        complete: true,
    })
}

fn parse_status_line(line: &[u8]) -> io::Result<(String, u16, String)> {
    let wrong = || malformed(&format!("status line {}", line.escape_ascii()));
    let text = std::str::from_utf8(line).map_err(|_| wrong())?;
    let mut words = text.splitn(3, ' ');
    let protocol = words.next().filter(|word| word.starts_with("HTTP/1."));
    let status = words
        .next()
        .filter(|word| word.len() == 3)
        .and_then(|word| word.parse().ok());
    // The space before an empty reason is required (RFC 9112 section 4).
    let reason = words.next();
    match (protocol, status, reason) {
        (Some(protocol), Some(status), Some(reason)) => {
            Ok((protocol.to_owned(), status, reason.to_owned()))
        }
        _ => Err(wrong()),
    }
}

fn parse_field(line: &[u8]) -> io::Result<(String, Vec<u8>)> {
    let wrong = || malformed(&format!("field line {}", line.escape_ascii()));
    let colon = line
        .iter()
        .position(|&byte| byte == b':')
        .ok_or_else(wrong)?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    if name.is_empty() || !name.iter().all(|&byte| is_token(byte)) {
        return Err(wrong());
    }
    if value.iter().any(|&byte| matches!(byte, 0 | b'\r' | b'\n')) {
        return Err(wrong());
    }
    Ok((
        String::from_utf8_lossy(name).into_owned(),
        value.trim_ascii().to_vec(),
    ))
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

pub(crate) fn position(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}

pub(crate) fn malformed(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the server sent {what}"),
    )
}

//! Writes the first lines of a request to an HTTP/1.1 back end: the request line and Host. These
//! lines depend on the member.
//!
//! One buffer holds the lines and the rest of the head: `[method][target][host][room][rest]`. The
//! rest is the same for all members and is written once. For each member the lines are written at
//! the end of the room, so the whole head is contiguous.

use mehari_config::BackEnd;
use std::ops::Range;

const VERSION_AND_HOST: &[u8] = b" HTTP/1.1\r\nHost: ";
const CLOSE: &[u8] = b"Connection: close\r\n";
/// The bytes reserved for a member's path, host and Connection.
const ROOM: usize = 128;

/// The parts of the lines that do not depend on the member.
pub struct Parts<'a> {
    pub method: &'a [u8],
    pub path: &'a [u8],
    /// `None`: the target has no question mark.
    pub query: Option<&'a [u8]>,
    /// The client's Host, if it is kept.
    pub host: Option<&'a [u8]>,
    /// Whether the head requests an upgrade. The rest of such a head contains Connection.
    pub upgrades: bool,
}

/// The positions of the parts in the buffer.
pub struct Opening {
    method: Range<usize>,
    /// Path and query.
    target: Range<usize>,
    /// An empty range means the member's host.
    host: Range<usize>,
    upgrades: bool,
    /// The start of the rest of the head.
    rest: usize,
}

impl Opening {
    /// Writes the parts into the empty buffer. The caller appends the rest of the head.
    pub fn begin(parts: Parts<'_>, buffer: &mut Vec<u8>) -> Opening {
        debug_assert!(buffer.is_empty());
        let method = push(&[parts.method], buffer);
        let slash: &[u8] = match parts.path.first() {
            Some(b'/') => b"",
            _ => b"/",
        };
        let (mark, query): (&[u8], &[u8]) = match parts.query {
            Some(query) => (b"?", query),
            None => (b"", b""),
        };
        let target = push(&[slash, parts.path, mark, query], buffer);
        let host = push(&[parts.host.unwrap_or_default()], buffer);
        let rest = 2 * buffer.len() + ROOM;
        buffer.resize(rest, 0);
        Opening {
            method,
            target,
            host,
            upgrades: parts.upgrades,
            rest,
        }
    }

    /// Returns the method, and the path without the query.
    pub fn asked<'b>(&self, buffer: &'b [u8]) -> (&'b [u8], &'b [u8]) {
        let target = &buffer[self.target.clone()];
        let end = target.iter().position(|byte| *byte == b'?');
        (
            &buffer[self.method.clone()],
            &target[..end.unwrap_or(target.len())],
        )
    }

    /// Writes the lines for this member before the rest of the head. Returns the position of the
    /// first line.
    pub fn address(&mut self, member: &BackEnd, buffer: &mut Vec<u8>) -> usize {
        let (own, path) = (member.host.as_bytes(), member.path.as_bytes());
        let host = if self.host.is_empty() {
            own.len()
        } else {
            self.host.len()
        };
        let close: &[u8] = if member.reuse || self.upgrades {
            b""
        } else {
            CLOSE
        };
        let length = self.method.len() + 1 + path.len() + self.target.len();
        let length = length + VERSION_AND_HOST.len() + host + 2 + close.len();
        let missing = length.saturating_sub(self.rest - self.host.end);
        if missing > 0 {
            let more = std::iter::repeat_n(0, missing);
            buffer.splice(self.host.end..self.host.end, more);
            self.rest += missing;
        }
        let begin = self.rest - length;
        let mut lines = HeaderBlock { buffer, at: begin };
        lines.copy(&self.method);
        lines.write(b" ");
        lines.write(path);
        lines.copy(&self.target);
        lines.write(VERSION_AND_HOST);
        if self.host.is_empty() {
            lines.write(own)
        } else {
            lines.copy(&self.host)
        }
        lines.write(b"\r\n");
        lines.write(close);
        debug_assert_eq!(lines.at, self.rest);
        begin
    }
}

fn push(parts: &[&[u8]], buffer: &mut Vec<u8>) -> Range<usize> {
    let start = buffer.len();
    for part in parts {
        buffer.extend_from_slice(part);
    }
    start..buffer.len()
}

struct HeaderBlock<'b> {
    buffer: &'b mut Vec<u8>,
    at: usize,
}

impl HeaderBlock<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.buffer[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    fn copy(&mut self, part: &Range<usize>) {
        self.buffer.copy_within(part.clone(), self.at);
        self.at += part.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mehari_config::{BackEndAddress, Speech};

    fn member(path: &str, host: &str, reuse: bool) -> BackEnd {
        let address = BackEndAddress::Tcp("127.0.0.1".into(), 8080);
        let mut member = BackEnd::new(Speech::Http, address, host.into());
        member.path = path.into();
        member.reuse = reuse;
        member
    }

    fn parts<'a>(path: &'a [u8], query: Option<&'a [u8]>, host: Option<&'a [u8]>) -> Parts<'a> {
        Parts {
            method: b"GET",
            path,
            query,
            host,
            upgrades: false,
        }
    }

    #[test]
    fn lines_are_written_anew_for_each_member_however_long_its_share_is() {
        let long = "/long".repeat(100);
        let members = [
            (
                member("", "a", true),
                "GET /x?y=1 HTTP/1.1\r\nHost: a\r\n".to_string(),
            ),
            (
                member(&long, "other.example", false),
                format!(
                    "GET {long}/x?y=1 HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n"
                ),
            ),
            (
                member("/p", "b", true),
                "GET /p/x?y=1 HTTP/1.1\r\nHost: b\r\n".to_string(),
            ),
        ];
        let mut buffer = Vec::new();
        let mut opening = Opening::begin(parts(b"/x", Some(b"y=1"), None), &mut buffer);
        assert_eq!(opening.asked(&buffer), (&b"GET"[..], &b"/x"[..]));
        buffer.extend_from_slice(b"A: b\r\n\r\n");
        for (member, expected) in &members {
            let begin = opening.address(member, &mut buffer);
            let sent = String::from_utf8_lossy(&buffer[begin..]).into_owned();
            assert_eq!(sent, format!("{expected}A: b\r\n\r\n"));
        }
    }

    #[test]
    fn a_path_begins_with_a_slash_and_the_clients_host_and_empty_query_are_kept() {
        for (parts, expected) in [
            (parts(b"", None, None), "GET / HTTP/1.1\r\nHost: a\r\n"),
            (
                parts(b"x", Some(b""), Some(b"shop:81")),
                "GET /x? HTTP/1.1\r\nHost: shop:81\r\n",
            ),
        ] {
            let mut buffer = Vec::new();
            let mut opening = Opening::begin(parts, &mut buffer);
            let begin = opening.address(&member("", "a", true), &mut buffer);
            assert_eq!(String::from_utf8_lossy(&buffer[begin..]), expected);
        }
    }
}

//! Writes the head of a response straight into the output.

use crate::request::Protocol;
use mehari_http::status;
use mehari_net::clock::Clock;
use mehari_observe::Decimal;
use std::time::SystemTime;

/// How the client finds the end of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// The head states no length. The status has no body (1xx, 204, 304), or the request is a HEAD
    /// request and the length is unknown.
    Unsaid,
    Known(u64),
    Chunked,
    /// The end of the connection ends the body, for HTTP/1.0.
    Close,
}

pub struct Reply<'a> {
    pub status: u16,
    /// The reason phrase. `None`: the registered phrase of the status.
    pub reason: Option<&'a [u8]>,
    pub lines: [&'a [u8]; 3],
    pub has_date: bool,
    pub has_server: bool,
    pub length: Length,
    pub protocol: Protocol,
    pub keep: bool,
    pub time: SystemTime,
}

impl Reply<'_> {
    pub fn push(&self, clock: &Clock, into: &mut Vec<u8>) {
        match self.reason {
            None => push_status_line(self.status, into),
            Some(reason) => push_with_reason(self.status, reason, into),
        }
        if !self.has_server {
            into.extend_from_slice(b"Server: Mehari\r\n");
        }
        if !self.has_date {
            clock.push_date(self.time, into);
        }
        into.extend_from_slice(self.lines[0]);
        into.extend_from_slice(self.lines[1]);
        into.extend_from_slice(self.lines[2]);
        match self.length {
            Length::Known(length) => {
                into.extend_from_slice(b"Content-Length: ");
                push_number(length, into);
                into.extend_from_slice(b"\r\n");
            }
            Length::Chunked => into.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
            Length::Unsaid | Length::Close => {}
        }
        match (self.keep, self.protocol) {
            (false, _) => into.extend_from_slice(b"Connection: close\r\n"),
            (true, Protocol::Http10) => into.extend_from_slice(b"Connection: keep-alive\r\n"),
            _ => {}
        }
        into.extend_from_slice(b"\r\n");
    }
}

pub fn push_status_line(status: u16, into: &mut Vec<u8>) {
    if status == 200 {
        into.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        return;
    }
    push_with_reason(status, status::phrase(status).as_bytes(), into);
}

fn push_with_reason(status: u16, reason: &[u8], into: &mut Vec<u8>) {
    into.extend_from_slice(b"HTTP/1.1 ");
    push_number(u64::from(status), into);
    into.push(b' ');
    into.extend_from_slice(reason);
    into.extend_from_slice(b"\r\n");
}

fn push_number(number: u64, into: &mut Vec<u8>) {
    into.extend_from_slice(Decimal::new(number).text());
}

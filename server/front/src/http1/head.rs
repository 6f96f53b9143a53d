//! A request head as spans of the connection's buffer: its words, what they say, and whether that is allowed.
//!
//! The connection calls [`Head::parse`] once `scan` has found the end; `tokens` takes the lines apart. Nothing is
//! copied: a head holds positions, so the buffer may move while the request is worked on, and its table is used again.

use super::framing;
use super::scan::Scan;
use super::tokens;
use crate::problem::{bad, Problem};

/// A piece of the buffer, counted from the request's first byte.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    #[inline]
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start as usize..self.end as usize]
    }

    fn length(self) -> usize {
        (self.end - self.start) as usize
    }

    /// The span of `part`, which is a slice of `whole`.
    fn locate(whole: &[u8], part: &[u8]) -> Span {
        let start = part.as_ptr() as usize - whole.as_ptr() as usize;
        Span {
            start: start as u32,
            end: (start + part.len()) as u32,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    Http10,
    #[default]
    Http11,
}

/// How the body of a request is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Framing {
    #[default]
    None,
    Length(u64),
    Chunked,
}

#[derive(Debug, Default)]
pub struct Head {
    pub method: Span,
    /// Path and query: the target, or what follows the authority of an absolute one.
    path: Span,
    pub version: Version,
    pub fields: Vec<(Span, Span)>,
    pub host: Option<Span>,
    pub framing: Framing,
    /// The client wants the connection kept (its version and its Connection field say so).
    pub keep_alive: bool,
    pub expects_continue: bool,
    /// Bytes of the head, and so the position of the body.
    pub length: usize,
}

impl Head {
    /// Reads the head that `scan` has found in `bytes`.
    pub fn parse(&mut self, bytes: &[u8], scan: &Scan) -> Result<(), Problem> {
        self.length = scan.end();
        let mut lines = scan.lines().map(|line| &bytes[line]);
        let first = lines.next().unwrap_or_default();
        let first = tokens::request_line(first)?;
        self.fields.clear();
        for line in lines {
            let (name, value) = tokens::field_line(line)?;
            let field = (Span::locate(bytes, name), Span::locate(bytes, value));
            self.fields.push(field);
        }
        let (authority, path) = split_target(first.method, first.target)?;
        self.method = Span::locate(bytes, first.method);
        self.path = Span::locate(bytes, path);
        self.version = first.version;
        self.read_connection_fields(bytes)?;
        if let Some(authority) = authority {
            self.host = Some(Span::locate(bytes, authority));
        }
        Ok(())
    }

    /// Path and query as sent; `*` for the server itself.
    #[inline]
    pub fn target<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        match self.path.of(bytes) {
            b"" => b"/",
            path => path,
        }
    }

    /// There is no head: what was there could not be read.
    pub fn forget(&mut self) {
        *self = Head {
            fields: std::mem::take(&mut self.fields),
            ..Head::default()
        };
        self.fields.clear();
    }

    /// The fields that decide about framing and the connection, each with its rules.
    fn read_connection_fields(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let mut notes = framing::Notes::default();
        self.host = None;
        for &(name, value) in &self.fields {
            let is = |known: &[u8]| name.of(bytes).eq_ignore_ascii_case(known);
            match name.length() {
                4 if is(b"host") => {
                    if self.host.replace(value).is_some() {
                        return Err(bad("more than one Host"));
                    }
                    check_host(value.of(bytes))?;
                }
                6 if is(b"expect") => notes.expect(value.of(bytes))?,
                10 if is(b"connection") => notes.connection(value.of(bytes)),
                14 if is(b"content-length") => notes.content_length(value.of(bytes))?,
                17 if is(b"transfer-encoding") => notes.transfer_encoding(value.of(bytes))?,
                _ => {}
            }
        }
        if self.host.is_none() && self.version == Version::Http11 {
            return Err(bad("no Host"));
        }
        self.framing = notes.framing(self.version)?;
        self.keep_alive = notes.keep_alive(self.version);
        self.expects_continue = notes.expects_continue && self.version == Version::Http11;
        Ok(())
    }
}

/// An absolute target's authority, which then counts instead of Host (RFC 9112 section 3.2.2), and the path.
fn split_target<'t>(
    method: &[u8],
    target: &'t [u8],
) -> Result<(Option<&'t [u8]>, &'t [u8]), Problem> {
    // Raw UTF-8 is let through: old sites link to such names.
    if !tokens::all(target, |byte| byte != b'#') {
        return Err(bad("the target has a byte that must be encoded"));
    }
    // CONNECT's form is another one; it is refused before anybody looks.
    if target.first() == Some(&b'/') || target == b"*" || method == b"CONNECT" {
        return Ok((None, target));
    }
    let scheme = |scheme: &[u8]| {
        let start = target.get(..scheme.len())?;
        start
            .eq_ignore_ascii_case(scheme)
            .then(|| &target[scheme.len()..])
    };
    let rest = scheme(b"http://").or_else(|| scheme(b"https://"));
    let rest = rest.ok_or(bad("the target is neither a path nor an address"))?;
    let end = rest
        .iter()
        .position(|byte| b"/?".contains(byte))
        .unwrap_or(rest.len());
    check_host(&rest[..end])?;
    Ok((Some(&rest[..end]), &rest[end..]))
}

/// `host [":" port]` of RFC 3986, without userinfo and never empty.
pub fn check_host(host: &[u8]) -> Result<(), Problem> {
    let (end, is_name) = match host.first() {
        Some(b'[') => address_end(host),
        _ => name_end(host),
    };
    let is_port = match &host[end..] {
        [] => true,
        [b':', port @ ..] => is_port(port),
        _ => false,
    };
    match is_name && is_port {
        true => Ok(()),
        false => Err(bad("Host is not a host name")),
    }
}

/// Where a registered name ends, and whether there is one.
fn name_end(host: &[u8]) -> (usize, bool) {
    let end = host.iter().position(|&byte| !OF_NAMES[usize::from(byte)]);
    let end = end.unwrap_or(host.len());
    (end, end > 0)
}

/// Where an address in brackets ends, and whether it may be one.
fn address_end(host: &[u8]) -> (usize, bool) {
    let is_of_addresses = |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
    let end = host[1..].iter().position(|byte| !is_of_addresses(byte));
    match end.map(|length| length + 1) {
        Some(end) if host[end] == b']' => (end + 1, end > 2),
        _ => (host.len(), false),
    }
}

/// What a registered name may be made of.
const OF_NAMES: [bool; 256] = {
    let mut of_names = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        of_names[byte as usize] = byte.is_ascii_alphanumeric() || is_mark(byte);
        byte += 1;
    }
    of_names
};

const fn is_mark(byte: u8) -> bool {
    matches!(
        byte,
        b'!' | b'$' | b'%' | b'&'..=b'.' | b';' | b'=' | b'_' | b'~'
    )
}

/// Nothing, or a number that a port can have.
fn is_port(digits: &[u8]) -> bool {
    if digits.len() > 5 || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let append = |number: u32, digit: &u8| number * 10 + u32::from(digit - b'0');
    digits.iter().fold(0, append) <= u32::from(u16::MAX)
}

/// Host name and port digits, brackets of an IPv6 address kept.
pub fn split_port(host: &[u8]) -> (&[u8], &[u8]) {
    let after_address = match host.first() {
        Some(b'[') => memchr::memchr(b']', host).unwrap_or(0),
        _ => 0,
    };
    match memchr::memchr(b':', &host[after_address..]) {
        Some(at) => (&host[..after_address + at], &host[after_address + at + 1..]),
        None => (host, &[]),
    }
}

//! A request head as spans of the connection's buffer, checked more strictly than any tokenizer does.
//!
//! The connection calls [`Head::parse`] once `scan` has found the end. Nothing is copied: a head holds
//! positions, so the buffer may move while the request is worked on, and its table is used again.

use super::framing;
use super::scan::Extent;
use crate::problem::{bad, Problem};
use mehari_observe::bytes::{all, leading};
use std::mem::MaybeUninit;

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

/// Tables for heads of a usual size live on the stack.
const USUAL_FIELDS: usize = 64;

impl Head {
    /// Reads the head that lies in `bytes[..extent.end]`.
    pub fn parse(&mut self, bytes: &[u8], extent: Extent) -> Result<(), Problem> {
        self.length = extent.end;
        let block = &bytes[extent.lead..extent.end];
        if extent.fields <= USUAL_FIELDS {
            let mut table = [const { MaybeUninit::<httparse::Header>::uninit() }; USUAL_FIELDS];
            self.tokenize(bytes, block, &mut table)
        } else {
            let mut table = Vec::new();
            table.resize_with(extent.fields, MaybeUninit::uninit);
            self.tokenize(bytes, block, &mut table)
        }
    }

    fn tokenize<'b>(
        &mut self,
        bytes: &'b [u8],
        block: &'b [u8],
        table: &mut [MaybeUninit<httparse::Header<'b>>],
    ) -> Result<(), Problem> {
        let mut request = httparse::Request::new(&mut []);
        let parsed = request.parse_with_uninit_headers(block, table);
        match parsed {
            Ok(httparse::Status::Complete(length)) if length == block.len() => {}
            Ok(_) => return Err(bad("the head does not end where its empty line is")),
            Err(error) => return Err(syntax_problem(error, block)),
        }
        let (Some(method), Some(target), Some(version)) =
            (request.method, request.path, request.version)
        else {
            return Err(bad("the request line is not complete"));
        };
        self.method = Span::locate(bytes, method.as_bytes());
        let (authority, path) = split_target(method.as_bytes(), target.as_bytes())?;
        self.path = Span::locate(bytes, path);
        self.version = match version {
            0 => Version::Http10,
            _ => Version::Http11,
        };
        self.fields.clear();
        self.fields.reserve(request.headers.len());
        for field in request.headers.iter() {
            self.fields.push((
                Span::locate(bytes, field.name.as_bytes()),
                Span::locate(bytes, field.value),
            ));
        }
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

fn syntax_problem(error: httparse::Error, block: &[u8]) -> Problem {
    match error {
        httparse::Error::Version if names_other_version(block) => {
            Problem::malformed(505, "an HTTP version we do not speak")
        }
        httparse::Error::HeaderName => bad("a header name is not a token"),
        httparse::Error::HeaderValue => bad("a header value has a control byte"),
        httparse::Error::Token => bad("the request line is not method, target, version"),
        httparse::Error::Version => bad("the version is not HTTP/1.0 or HTTP/1.1"),
        httparse::Error::TooManyHeaders => Problem::malformed(431, "too many header fields"),
        httparse::Error::NewLine | httparse::Error::Status => bad("a line ends without CR LF"),
    }
}

/// `HTTP/digit.digit` at the end of the first line.
fn names_other_version(block: &[u8]) -> bool {
    let line = block.split(|&byte| byte == b'\r').next().unwrap_or(block);
    let Some(tail) = line.len().checked_sub(9).map(|at| &line[at..]) else {
        return false;
    };
    let words = line.iter().filter(|&&byte| byte == b' ').count() == 2;
    let digits = tail[6].is_ascii_digit() && tail[7] == b'.' && tail[8].is_ascii_digit();
    words && digits && tail.starts_with(b" HTTP/")
}

/// An absolute target's authority, which then counts instead of Host (RFC 9112 section 3.2.2), and the path.
fn split_target<'t>(
    method: &[u8],
    target: &'t [u8],
) -> Result<(Option<&'t [u8]>, &'t [u8]), Problem> {
    // No blanks, controls or fragment. Raw UTF-8 is let through: old sites link to such names.
    if !all(target, |byte| byte > b' ' && byte != 0x7f && byte != b'#') {
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
    let end = leading(host, |byte| OF_NAMES[usize::from(byte)]);
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
    let append = |number: u32, byte: &u8| {
        let digit = u32::from(byte.wrapping_sub(b'0'));
        (digit < 10).then(|| number * 10 + digit)
    };
    // As many digits always fit.
    let number = digits.iter().take(6).try_fold(0, append);
    digits.len() <= 5 && number.is_some_and(|number| number <= u32::from(u16::MAX))
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

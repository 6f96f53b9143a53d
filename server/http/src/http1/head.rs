//! Parses a request head into spans of the connection's buffer. The checks are stricter than the
//! tokenizer's.
//!
//! The connection calls [`Head::parse`] after `scan` has found the end of the head. A head holds
//! positions and copies nothing. The buffer may therefore move meanwhile, and the next request uses
//! the table of the head again.

use super::framing;
use super::scan::Extent;
use crate::name_lengths::NameLengths;
use crate::problem::{bad, Problem};
use crate::{host, target};
use std::mem::MaybeUninit;

/// A part of the buffer, with positions relative to the request's first byte.
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

    #[inline]
    pub fn length(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Returns the span of `part`, which must be a slice of `whole`.
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

/// The framing of a request's body.
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
    /// The path and query: the target itself, or the part behind the authority of an absolute
    /// target.
    path: Span,
    /// The path and query of an absolute target with a query and without a path.
    rooted: Vec<u8>,
    pub version: Version,
    pub fields: Vec<(Span, Span)>,
    /// The lengths of the fields' names.
    pub name_lengths: NameLengths,
    pub host: Option<Span>,
    /// The Host that was checked last.
    accepted_host: Vec<u8>,
    pub framing: Framing,
    /// Whether the client wants to keep the connection, by its version and its Connection field.
    pub keep_alive: bool,
    pub expects_continue: bool,
    /// The length of the head in bytes, which is also the position of the body.
    pub length: usize,
    /// Whether the request line of the last head was sound.
    has_line: bool,
}

/// A head with up to this many fields is parsed with a table on the stack.
const USUAL_FIELDS: usize = 64;

impl Head {
    /// Parses the head in `bytes[..extent.end]`.
    ///
    /// # Errors
    ///
    /// A [`Problem`] for a head that RFC 9112 or this server refuses.
    pub fn parse(&mut self, bytes: &[u8], extent: Extent) -> Result<(), Problem> {
        let parsed = self.parse_known(bytes, extent);
        let is_other_version = parsed.is_err_and(|problem| problem.status == 505);
        match later_minor(&bytes[extent.lead..extent.end]).filter(|_| is_other_version) {
            None => parsed,
            Some(at) => {
                // The spans hold for the buffer too, because only a digit differs.
                let mut as_known = bytes[..extent.end].to_vec();
                as_known[extent.lead + at] = b'1';
                self.parse_known(&as_known, extent)
            }
        }
    }

    /// Parses a head of HTTP/1.0 or HTTP/1.1.
    fn parse_known(&mut self, bytes: &[u8], extent: Extent) -> Result<(), Problem> {
        self.length = extent.end;
        self.has_line = false;
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
        let (authority, path) = target::split(method.as_bytes(), target.as_bytes())?;
        self.path = Span::locate(bytes, path);
        self.rooted.clear();
        if path.starts_with(b"?") {
            self.rooted = [b"/", path].concat();
        }
        self.version = match version {
            0 => Version::Http10,
            _ => Version::Http11,
        };
        self.has_line = true;
        self.fields.clear();
        self.fields.extend(request.headers.iter().map(|field| {
            (
                Span::locate(bytes, field.name.as_bytes()),
                Span::locate(bytes, field.value),
            )
        }));
        self.read_connection_fields(bytes, request.headers)?;
        if let Some(authority) = authority {
            self.host = Some(Span::locate(bytes, authority));
        }
        Ok(())
    }

    /// Returns path and query as sent. `*` means the server itself.
    #[inline]
    pub fn target<'b>(&'b self, bytes: &'b [u8]) -> &'b [u8] {
        match self.path.of(bytes) {
            b"" => b"/",
            [b'?', ..] => &self.rooted,
            path => path,
        }
    }

    /// Empties the head after a parse error. A sound request line stays for the access log.
    pub fn forget(&mut self) {
        let mut forgotten = Head {
            fields: std::mem::take(&mut self.fields),
            ..Head::default()
        };
        forgotten.fields.clear();
        if self.has_line {
            forgotten.method = self.method;
            forgotten.path = self.path;
            forgotten.rooted = std::mem::take(&mut self.rooted);
            forgotten.version = self.version;
            forgotten.length = self.length;
        }
        *self = forgotten;
    }

    /// Notes that the request has been answered. The line then says nothing about later bytes.
    pub fn end_request(&mut self) {
        self.has_line = false;
    }

    /// Checks a Host. Usually this connection has sent the same Host before, which is then not
    /// checked again.
    fn check_host(&mut self, host: &[u8]) -> Result<(), Problem> {
        // While `accepted_host` is empty, no Host has been accepted.
        if host.is_empty() || self.accepted_host != host {
            host::check(host)?;
            self.accepted_host.clear();
            self.accepted_host.extend_from_slice(host);
        }
        Ok(())
    }

    /// Reads the fields that decide about framing and the connection.
    fn read_connection_fields(
        &mut self,
        bytes: &[u8],
        fields: &[httparse::Header],
    ) -> Result<(), Problem> {
        let mut notes = framing::Notes::default();
        self.host = None;
        self.name_lengths = NameLengths::default();
        for &httparse::Header { name, value } in fields {
            self.name_lengths.note(name.len());
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            match name.len() {
                4 if is("host") => {
                    let host = Span::locate(bytes, value);
                    if self.host.replace(host).is_some() {
                        return Err(bad("more than one Host"));
                    }
                    self.check_host(value)?;
                }
                6 if is("expect") => notes.expect(value)?,
                10 if is("connection") => notes.connection(value),
                12 if is("content-type") => notes.content_type()?,
                13 if is("authorization") => notes.authorization()?,
                14 if is("content-length") => notes.content_length(value)?,
                17 if is("transfer-encoding") => notes.transfer_encoding(value)?,
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
            Problem::malformed(505, "an unsupported HTTP version")
        }
        httparse::Error::HeaderName => bad("a header name is not a token"),
        httparse::Error::HeaderValue => bad("a header value has a control byte"),
        httparse::Error::Token => bad("the request line is not method, target, version"),
        httparse::Error::Version => bad("the version is not HTTP/1.0 or HTTP/1.1"),
        httparse::Error::TooManyHeaders => Problem::malformed(431, "too many header fields"),
        httparse::Error::NewLine | httparse::Error::Status => bad("a line ends without CR LF"),
    }
}

/// Returns whether the first line ends with another `HTTP/digit.digit`.
fn names_other_version(block: &[u8]) -> bool {
    let line = block.split(|&byte| byte == b'\r').next().unwrap_or(block);
    let Some(tail) = line.len().checked_sub(9).map(|at| &line[at..]) else {
        return false;
    };
    let words = line.iter().filter(|&&byte| byte == b' ').count() == 2;
    let digits = tail[6].is_ascii_digit() && tail[7] == b'.' && tail[8].is_ascii_digit();
    words && digits && tail.starts_with(b" HTTP/")
}

/// Returns the position of the minor version in a head of a later HTTP/1 than 1.1. The server then
/// takes the head as HTTP/1.1 (RFC 9110 section 2.5).
fn later_minor(head: &[u8]) -> Option<usize> {
    let end = memchr::memchr(b'\r', head)?;
    let (minor, before) = head[..end].split_last()?;
    let is_later = before.ends_with(b" HTTP/1.") && matches!(minor, b'2'..=b'9');
    is_later.then_some(end - 1)
}

#[cfg(test)]
mod tests;

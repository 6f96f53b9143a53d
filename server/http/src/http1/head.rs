//! A request head as spans of the connection's buffer, checked more strictly than a tokenizer does.
//!
//! The connection calls [`Head::parse`] after `scan` has found the end. A head holds positions and
//! copies nothing, so the buffer may move meanwhile and the table is used again.

use super::framing;
use super::scan::Extent;
use crate::problem::{bad, Problem};
use mehari_observe::bytes::all;
use std::mem::MaybeUninit;
use std::net::Ipv6Addr;

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
    /// Path and query: the target itself, or the part behind the authority of an absolute target.
    path: Span,
    pub version: Version,
    pub fields: Vec<(Span, Span)>,
    pub host: Option<Span>,
    pub framing: Framing,
    /// Whether the client wants to keep the connection, by its version and its Connection field.
    pub keep_alive: bool,
    pub expects_continue: bool,
    /// Length of the head in bytes, which is the position of the body.
    pub length: usize,
}

/// Heads with up to this many fields are parsed with a table on the stack.
const USUAL_FIELDS: usize = 64;

impl Head {
    /// Parses the head in `bytes[..extent.end]`.
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

    /// Path and query as sent. `*` means the server itself.
    #[inline]
    pub fn target<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        match self.path.of(bytes) {
            b"" => b"/",
            path => path,
        }
    }

    /// Empties the head after a parse error.
    pub fn forget(&mut self) {
        *self = Head {
            fields: std::mem::take(&mut self.fields),
            ..Head::default()
        };
        self.fields.clear();
    }

    /// Reads the fields that decide about framing and the connection.
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
                12 if is(b"content-type") => notes.content_type()?,
                13 if is(b"authorization") => notes.authorization()?,
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

/// Whether the first line ends with another `HTTP/digit.digit`.
fn names_other_version(block: &[u8]) -> bool {
    let line = block.split(|&byte| byte == b'\r').next().unwrap_or(block);
    let Some(tail) = line.len().checked_sub(9).map(|at| &line[at..]) else {
        return false;
    };
    let words = line.iter().filter(|&&byte| byte == b' ').count() == 2;
    let digits = tail[6].is_ascii_digit() && tail[7] == b'.' && tail[8].is_ascii_digit();
    words && digits && tail.starts_with(b" HTTP/")
}

/// Splits an absolute target into authority, which replaces Host (RFC 9112 section 3.2.2), and
/// path.
fn split_target<'t>(
    method: &[u8],
    target: &'t [u8],
) -> Result<(Option<&'t [u8]>, &'t [u8]), Problem> {
    // No blanks, control characters or fragment. Raw UTF-8 is allowed, because old sites link to
    // such names.
    if !all(target, |byte| byte > b' ' && byte != 0x7f && byte != b'#') {
        return Err(bad("the target has a byte that must be encoded"));
    }
    // CONNECT has another form and is refused elsewhere.
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

/// Checks `host [":" port]` (RFC 9110 section 7.2). The host is a DNS name, in which some networks
/// use `_`, or an address. A name that looks like an address but is none is refused, as in Apache.
pub fn check_host(host: &[u8]) -> Result<(), Problem> {
    let (name, port) = match host.first() {
        Some(b'[') => {
            let end = memchr::memchr(b']', host).map_or(host.len(), |at| at + 1);
            host.split_at(end)
        }
        _ => host.split_at(memchr::memchr(b':', host).unwrap_or(host.len())),
    };
    let is_port = match port {
        [] => true,
        [b':', port @ ..] => is_port(port),
        _ => false,
    };
    if is_port && (is_name(name) || is_address_in_brackets(name)) {
        Ok(())
    } else {
        Err(bad("Host is not a host name"))
    }
}

/// Whether a name consists of labels with dots between them, or is an IPv4 address. A final dot is
/// allowed. One pass, because every request has a Host.
fn is_name(name: &[u8]) -> bool {
    let name = name.strip_suffix(b".").unwrap_or(name);
    let (mut labels, mut octets) = (0, 0);
    let mut label = Label::default();
    for &byte in name {
        match byte {
            b'.' if label.is_complete() => {
                labels += 1;
                octets += u32::from(label.is_octet());
                label = Label::default();
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => label.push_other(),
            b'-' if label.length > 0 => label.push_hyphen(),
            b'0'..=b'9' => label.push_digit(byte),
            _ => return false,
        }
    }
    if !label.is_complete() {
        return false;
    }
    if label.digits == label.length {
        labels == 3 && octets == 3 && label.is_octet()
    } else {
        // A top-level domain begins with a letter (RFC 1123 section 2.1).
        labels == 0 || !label.begins_with_digit
    }
}

/// What is known about a label of a host name so far.
#[derive(Default)]
struct Label {
    length: usize,
    digits: usize,
    /// The value of the first three digits.
    number: u32,
    begins_with_digit: bool,
    begins_with_zero: bool,
    ends_with_hyphen: bool,
}

impl Label {
    fn push_digit(&mut self, digit: u8) {
        if self.length == 0 {
            self.begins_with_digit = true;
            self.begins_with_zero = digit == b'0';
        }
        if self.digits < 3 {
            self.number = self.number * 10 + u32::from(digit - b'0');
        }
        self.digits += 1;
        self.length += 1;
        self.ends_with_hyphen = false;
    }

    fn push_hyphen(&mut self) {
        self.length += 1;
        self.ends_with_hyphen = true;
    }

    fn push_other(&mut self) {
        self.length += 1;
        self.ends_with_hyphen = false;
    }

    fn is_complete(&self) -> bool {
        self.length > 0 && !self.ends_with_hyphen
    }

    /// Whether the label is a decimal byte of an IPv4 address without leading zeros.
    fn is_octet(&self) -> bool {
        self.digits == self.length
            && self.length <= 3
            && self.number <= 255
            && !(self.begins_with_zero && self.length > 1)
    }
}

fn is_address_in_brackets(host: &[u8]) -> bool {
    let inside = host
        .strip_prefix(b"[")
        .and_then(|rest| rest.strip_suffix(b"]"));
    let text = inside.and_then(|inside| std::str::from_utf8(inside).ok());
    text.is_some_and(|text| text.parse::<Ipv6Addr>().is_ok())
}

/// Empty, or the number of a port.
fn is_port(digits: &[u8]) -> bool {
    let append = |number: u32, byte: &u8| {
        let digit = u32::from(byte.wrapping_sub(b'0'));
        (digit < 10).then(|| number * 10 + digit)
    };
    // Six digits always fit.
    let number = digits.iter().take(6).try_fold(0, append);
    let is_number = number.is_some_and(|number| (1..=u32::from(u16::MAX)).contains(&number));
    digits.is_empty() || digits.len() <= 5 && is_number
}

/// Splits into host name and port digits. Brackets of an IPv6 address stay.
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

#[cfg(test)]
mod names {
    use super::is_name;
    use std::net::Ipv4Addr;

    /// The definition, label by label, for comparison with `is_name`.
    fn is_name_by_definition(name: &[u8]) -> bool {
        let name = name.strip_suffix(b".").unwrap_or(name);
        let labels: Vec<&[u8]> = name.split(|byte| *byte == b'.').collect();
        let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
        let is_label = |label: &&[u8]| {
            label.iter().all(fits)
                && label.first().is_some_and(|byte| *byte != b'-')
                && label.last().is_some_and(|byte| *byte != b'-')
        };
        let last = labels[labels.len() - 1];
        if !labels.iter().all(is_label) {
            return false;
        }
        if last.iter().all(u8::is_ascii_digit) {
            let text = std::str::from_utf8(name).unwrap_or_default();
            return text.parse::<Ipv4Addr>().is_ok();
        }
        labels.len() == 1 || !last[0].is_ascii_digit()
    }

    #[test]
    fn one_pass_says_what_the_definition_says() {
        let alphabet = b"a_-.10:\xff";
        let mut names: Vec<Vec<u8>> = vec![Vec::new()];
        let mut checked = 0;
        for _ in 0..6 {
            let longer = names.iter().flat_map(|name| {
                alphabet.iter().map(move |byte| {
                    let mut name = name.clone();
                    name.push(*byte);
                    name
                })
            });
            names = longer.collect();
            for name in &names {
                assert_eq!(is_name(name), is_name_by_definition(name), "{name:?}");
            }
            checked += names.len();
        }
        assert!(checked > 250_000, "{checked}");
    }

    #[test]
    fn addresses_are_those_of_ipv4() {
        for name in [
            "127.0.0.1",
            "1.2.3.4.",
            "255.255.255.255",
            "256.1.1.1",
            "1.2.3",
            "1.2.3.4.5",
            "01.2.3.4",
            "0.0.0.0",
            "1.2.3.400",
            "1.2.3.1000",
            "a.2.3.4",
            "1.2.3.a",
            "1.2.3.4a",
            "localhost",
            "www.example.org",
            "example.org.",
            "xn--bcher-kva.example",
            "a_b.example",
            "-a",
            "a-",
            "a..b",
            ".",
            "..",
            "1",
            "1000",
            "a.1b",
        ] {
            let name = name.as_bytes();
            assert_eq!(is_name(name), is_name_by_definition(name), "{name:?}");
        }
    }
}

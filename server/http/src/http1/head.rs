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
    /// The Host that was checked last.
    accepted_host: Vec<u8>,
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
    ///
    /// # Errors
    ///
    /// A [`Problem`] for a head that RFC 9112 or this server refuses.
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

    /// Checks a Host. Usually it is the Host that this connection sent before, which is not checked
    /// again.
    fn check_host(&mut self, host: &[u8]) -> Result<(), Problem> {
        // While `accepted_host` is empty, no Host has been accepted.
        if host.is_empty() || self.accepted_host != host {
            check_host(host)?;
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
        for &httparse::Header { name, value } in fields {
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
    // Blanks, control characters and fragments are refused. Raw UTF-8 is allowed, because old sites
    // have links to such names.
    if !all(target, |byte| byte > b' ' && byte != 0x7f && byte != b'#') {
        return Err(bad("the target has a byte that must be encoded"));
    }
    // CONNECT has another form of target and is refused elsewhere.
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

/// Checks `host [":" port]` (RFC 9110 section 7.2). The host is an address or a DNS name, in which
/// some networks use `_`. A name that looks like an address but is not one is refused, as in
/// Apache.
///
/// # Errors
///
/// A [`Problem`] for any other text.
pub fn check_host(host: &[u8]) -> Result<(), Problem> {
    let name_ends = match host.first() {
        Some(b'[') => address_in_brackets(host),
        _ => name(host),
    };
    let is_host = name_ends.is_some_and(|end| match &host[end..] {
        [] => true,
        [b':', port @ ..] => is_port(port),
        _ => false,
    });
    if is_host {
        Ok(())
    } else {
        Err(bad("Host is not a host name"))
    }
}

/// The classes of bytes in a host name.
mod class {
    pub const OTHER: u8 = 0;
    pub const LETTER: u8 = 1;
    pub const DIGIT: u8 = 2;
    pub const HYPHEN: u8 = 3;
    pub const DOT: u8 = 4;

    pub static OF: [u8; 256] = {
        let mut of = [OTHER; 256];
        let mut byte = 0;
        while byte < 256 {
            of[byte] = match byte as u8 {
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => LETTER,
                b'0'..=b'9' => DIGIT,
                b'-' => HYPHEN,
                b'.' => DOT,
                _ => OTHER,
            };
            byte += 1;
        }
        of
    };
}

/// Returns where the name at the beginning of `host` ends, or `None` if it is not a name. A name
/// consists of labels with dots between them, or is an IPv4 address. A final dot is allowed. One
/// pass, because every request has a Host.
fn name(host: &[u8]) -> Option<usize> {
    let (mut previous, mut end) = (class::DOT, 0);
    // Where the last label begins, and the one before it.
    let (mut last_label, mut label_before) = (0, 0);
    for &byte in host {
        let class = class::OF[usize::from(byte)];
        if class >= class::HYPHEN {
            // No label is empty, begins with a hyphen or ends with one.
            if previous == class::DOT || class == class::DOT && previous == class::HYPHEN {
                return None;
            }
            if class == class::DOT {
                (label_before, last_label) = (last_label, end + 1);
            }
        } else if class == class::OTHER {
            break;
        }
        previous = class;
        end += 1;
    }
    let is_name = match previous {
        class::HYPHEN => false,
        class::DOT => end > 0 && may_end_with(&host[..end - 1], label_before),
        _ => may_end_with(&host[..end], last_label),
    };
    is_name.then_some(end)
}

/// Whether a name may end with the label that begins at `last_label`. A top-level domain begins
/// with a letter (RFC 1123 section 2.1); an address consists of numbers.
fn may_end_with(name: &[u8], last_label: usize) -> bool {
    let last = &name[last_label..];
    let begins_with_digit = last.first().is_some_and(u8::is_ascii_digit);
    if begins_with_digit && (last_label > 0 || last.iter().all(u8::is_ascii_digit)) {
        is_ipv4_address(name)
    } else {
        !last.is_empty()
    }
}

/// Whether a name consists of four numbers up to 255, decimal and without zeros in front.
fn is_ipv4_address(name: &[u8]) -> bool {
    let (mut dots, mut digits, mut number) = (0, 0, 0);
    for &byte in name {
        if byte == b'.' {
            (dots, digits, number) = (dots + 1, 0, 0);
            continue;
        }
        let digit = u32::from(byte.wrapping_sub(b'0'));
        if digit > 9 || digits > 0 && number == 0 {
            return false;
        }
        digits += 1;
        number = number * 10 + digit;
        if number > 255 {
            return false;
        }
    }
    dots == 3
}

/// Returns where the IPv6 address in brackets at the beginning of `host` ends.
fn address_in_brackets(host: &[u8]) -> Option<usize> {
    let end = memchr::memchr(b']', host)?;
    let text = std::str::from_utf8(&host[1..end]).ok()?;
    text.parse::<Ipv6Addr>().ok().map(|_| end + 1)
}

/// Whether this is the number of a port. An empty text counts as one.
fn is_port(digits: &[u8]) -> bool {
    if digits.len() > 5 {
        return false;
    }
    let mut number = 0;
    for &byte in digits {
        let digit = u32::from(byte.wrapping_sub(b'0'));
        if digit > 9 {
            return false;
        }
        number = number * 10 + digit;
    }
    digits.is_empty() || (1..=u32::from(u16::MAX)).contains(&number)
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
    use super::name;
    use std::net::Ipv4Addr;

    fn is_name(host: &[u8]) -> bool {
        name(host) == Some(host.len())
    }

    /// The definition of a name, label by label, for comparison with `name`.
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

#[cfg(test)]
mod repeated_hosts {
    use super::{Extent, Head};

    fn parse(head: &mut Head, host: &str) -> bool {
        let text = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let extent = Extent {
            lead: 0,
            end: text.len(),
            fields: 1,
        };
        head.parse(text.as_bytes(), extent).is_ok()
    }

    #[test]
    fn a_host_that_was_not_accepted_is_checked_each_time() {
        let mut head = Head::default();
        assert!(!parse(&mut head, ""));
        for _ in 0..2 {
            assert!(parse(&mut head, "www.example.org:8080"));
            assert!(parse(&mut head, "www.example.org:8080"));
            assert!(!parse(&mut head, "-a"));
            assert!(!parse(&mut head, "-a"));
            assert!(!parse(&mut head, "www.example.org:80800"));
            assert!(!parse(&mut head, ""));
        }
    }
}

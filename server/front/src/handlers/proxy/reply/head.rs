//! Parses the head of a response, removes fields about the connection, and replaces the back end's
//! names by this server's names.

use crate::handlers::proxy::{request, reverse};
use mehari_config::{BackEnd, ProxySettings};
use mehari_pool::{script_head, Head, Reason};
use mehari_upstream::Fault;
use std::mem::MaybeUninit;

/// The most fields that a response may have.
const FIELDS: usize = 200;

pub const TOO_LONG: Fault = Fault::Malformed("its head is too long");

#[derive(Debug)]
pub struct Parsed {
    pub head: Head,
    pub chunked: bool,
    /// Whether the connection can be used for another request.
    pub keeps: bool,
}

/// Parses the head at the start of `bytes` and returns it with its length. `None`: the head is
/// incomplete.
pub fn parse(
    bytes: &[u8],
    settings: &ProxySettings,
    member: &BackEnd,
) -> Result<Option<(Parsed, usize)>, Fault> {
    let mut table = [const { MaybeUninit::<httparse::Header>::uninit() }; FIELDS];
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let length = match config.parse_response_with_uninit_headers(&mut response, bytes, &mut table) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Fault::Malformed("too many header fields"))
        }
        Err(_) => return Err(Fault::Malformed("its head is not HTTP")),
    };
    if length > script_head::LONGEST {
        return Err(TOO_LONG);
    }
    let (Some(version), Some(status)) = (response.version, response.code) else {
        return Err(Fault::Malformed("its head has no status line"));
    };
    if !(100..=599).contains(&status) {
        return Err(Fault::Malformed("a status outside 100 to 599"));
    }
    let mut state = HeadFraming {
        keeps: version == 1,
        ..HeadFraming::default()
    };
    let mut lines = Vec::with_capacity(length + 64);
    for field in response.headers.iter() {
        if state.field(field.name, field.value)? {
            reverse::push_line(field, settings, member, &mut lines);
        }
    }
    if state.chunked && version == 0 {
        return Err(Fault::Malformed("Transfer-Encoding in HTTP/1.0"));
    }
    if state.names_fields {
        // The fields that Connection names are left out. Because they may precede Connection, all
        // fields are read a second time.
        lines.clear();
        for field in response.headers.iter() {
            let goes_on = HeadFraming::default().field(field.name, field.value)?;
            if goes_on && !is_named(response.headers, field.name) {
                reverse::push_line(field, settings, member, &mut lines);
            }
        }
    }
    let mut head = Head {
        status,
        lines,
        content_length: state.length,
        has_date: state.has_date,
        has_server: state.has_server,
        reason: own_reason(status, response.reason.unwrap_or_default()),
        ..Head::default()
    };
    if status == 101 {
        let protocol = state
            .upgrade
            .ok_or(Fault::Malformed("101 without Upgrade"))?;
        head.lines
            .extend_from_slice(b"Connection: Upgrade\r\nUpgrade: ");
        head.lines.extend_from_slice(protocol);
        head.lines.extend_from_slice(b"\r\n");
    }
    let parsed = Parsed {
        head,
        chunked: state.chunked,
        // A body that follows a 204 would be taken for the next response.
        keeps: state.keeps && !state.closes && !(status == 204 && state.has_body()),
    };
    Ok(Some((parsed, length)))
}

/// Returns the back end's reason phrase, if it differs from the registered phrase.
fn own_reason(status: u16, phrase: &str) -> Option<Box<Reason>> {
    if phrase == mehari_http::status::phrase(status) {
        return None;
    }
    Reason::read(format!("{status} {phrase}").as_bytes())
}

/// The meaning of a head's fields about framing and connection, and which other fields exist.
#[derive(Default)]
struct HeadFraming<'b> {
    length: Option<u64>,
    chunked: bool,
    keeps: bool,
    closes: bool,
    has_date: bool,
    has_server: bool,
    upgrade: Option<&'b [u8]>,
    /// Whether a Connection field names other fields.
    names_fields: bool,
}

impl<'b> HeadFraming<'b> {
    /// Interprets a field. Returns true if the client gets the field.
    fn field(&mut self, name: &str, value: &'b [u8]) -> Result<bool, Fault> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        match name.len() {
            2 if is("te") => return Ok(false),
            4 if is("date") => self.has_date = true,
            6 if is("server") => self.has_server = true,
            7 if is("upgrade") => {
                self.upgrade = Some(value);
                return Ok(false);
            }
            7 if is("trailer") => return Ok(false),
            10 if is("connection") => {
                self.connection(value);
                return Ok(false);
            }
            10 if is("keep-alive") => return Ok(false),
            14 if is("content-length") => {
                let length = number(value);
                let length = length.ok_or(Fault::Malformed("Content-Length is not a number"))?;
                let before = self.length.replace(length);
                if before.is_some_and(|before| before != length) {
                    return Err(Fault::Malformed("two different values of Content-Length"));
                }
                // The client gets the field once.
                return Ok(before.is_none());
            }
            16 if is("proxy-connection") => return Ok(false),
            17 if is("transfer-encoding") => {
                if self.chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Fault::Malformed("a Transfer-Encoding other than chunked"));
                }
                self.chunked = true;
                return Ok(false);
            }
            18 if is("proxy-authenticate") => return Ok(false),
            _ => {}
        }
        Ok(true)
    }

    fn has_body(&self) -> bool {
        self.chunked || self.length.is_some_and(|length| length > 0)
    }

    fn connection(&mut self, value: &[u8]) {
        for option in value.split(|&byte| byte == b',') {
            let option = option.trim_ascii();
            if option.eq_ignore_ascii_case(b"close") {
                self.closes = true;
            } else if option.eq_ignore_ascii_case(b"keep-alive") {
                self.keeps = true;
            } else {
                self.names_fields = true;
            }
        }
    }
}

/// Returns whether a Connection field names this field.
fn is_named(fields: &[httparse::Header<'_>], name: &str) -> bool {
    let mut connection = fields
        .iter()
        .filter(|field| field.name.eq_ignore_ascii_case("connection"));
    !name.eq_ignore_ascii_case("set-cookie")
        && connection.any(|field| request::names(field.value, name.as_bytes()))
}

/// Reads a number that consists of digits only. `None`: other bytes, or more bytes than the largest
/// file has.
fn number(digits: &[u8]) -> Option<u64> {
    let (&first, rest) = digits.split_first()?;
    let digit = |byte: u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
    let number = rest.iter().try_fold(digit(first)?, |number, &byte| {
        number.checked_mul(10)?.checked_add(digit(byte)?)
    });
    number.and_then(|number| u64::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mehari_config::{BackEndAddress, Site, Speech};

    fn parsed(block: &str) -> Result<Parsed, Fault> {
        let address = BackEndAddress::Tcp("127.0.0.1".into(), 8080);
        let member = BackEnd::new(Speech::Http, address, "localhost".into());
        let parsed = parse(block.as_bytes(), &Site::defaults().main.base.proxy, &member)?;
        Ok(parsed.expect("it is whole").0)
    }

    #[test]
    fn connection_is_kept_unless_something_speaks_against_it() {
        for (block, keeps) in [
            ("HTTP/1.1 200 OK\r\n\r\n", true),
            ("HTTP/1.0 200 OK\r\n\r\n", false),
            ("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n", true),
            ("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", false),
            (
                "HTTP/1.1 200 OK\r\nConnection: close, keep-alive\r\n\r\n",
                false,
            ),
            (
                "HTTP/1.1 200 OK\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n",
                false,
            ),
            ("HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n", true),
            ("HTTP/1.1 204 No\r\nContent-Length: 3\r\n\r\n", false),
            (
                "HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n",
                false,
            ),
            ("HTTP/1.1 304 Same\r\nContent-Length: 3\r\n\r\n", true),
        ] {
            assert_eq!(parsed(block).expect(block).keeps, keeps, "{block}");
        }
    }

    #[test]
    fn fields_that_any_connection_field_names_stay_behind() {
        let block = "HTTP/1.1 200 OK\r\nA: 1\r\nConnection: b, C\r\nB: 2\r\nC: 3\r\nD: 4\r\nConnection: d\r\nSet-Cookie: e\r\nConnection: Set-Cookie\r\n\r\n";
        let lines = parsed(block).expect("a head").head.lines;
        assert_eq!(String::from_utf8_lossy(&lines), "A: 1\r\nSet-Cookie: e\r\n");
    }
}

//! The head of an answer: what concerns the connection is taken out, what names the back end is rewritten.

use crate::handler::proxy::reverse;
use mehari_config::{BackEnd, ProxySettings};
use mehari_pool::Head;
use mehari_upstream::Fault;
use std::mem::MaybeUninit;

/// Fields an answer may have.
const FIELDS: usize = 200;

#[derive(Debug)]
pub struct Parsed {
    pub head: Head,
    pub chunked: bool,
    /// The connection can be used again.
    pub keeps: bool,
}

/// `block` ends with its empty line.
pub fn parse(block: &[u8], settings: &ProxySettings, member: &BackEnd) -> Result<Parsed, Fault> {
    let mut table = [const { MaybeUninit::<httparse::Header>::uninit() }; FIELDS];
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    match config.parse_response_with_uninit_headers(&mut response, block, &mut table) {
        Ok(httparse::Status::Complete(length)) if length == block.len() => {}
        Ok(_) => {
            return Err(Fault::Malformed(
                "its head does not end where its empty line is",
            ))
        }
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Fault::Malformed("too many header fields"))
        }
        Err(_) => return Err(Fault::Malformed("its head is not HTTP")),
    }
    let (Some(version), Some(status)) = (response.version, response.code) else {
        return Err(Fault::Malformed("its head has no status line"));
    };
    if !(100..=599).contains(&status) {
        return Err(Fault::Malformed("a status outside 100 to 599"));
    }
    let mut notes = Notes {
        keeps: version == 1,
        ..Notes::default()
    };
    for field in response.headers.iter() {
        notes.field(field.name, field.value)?;
    }
    if notes.chunked && version == 0 {
        return Err(Fault::Malformed("Transfer-Encoding in HTTP/1.0"));
    }
    let mut head = Head {
        status,
        lines: Vec::with_capacity(block.len() + 64),
        content_length: notes.length,
        has_date: notes.has_date,
        has_server: notes.has_server,
        ..Head::default()
    };
    for field in response.headers.iter() {
        if !is_connections(field.name) && !notes.names(field.name) {
            reverse::push_line(field.name, field.value, settings, member, &mut head.lines);
        }
    }
    if status == 101 {
        let protocol = notes
            .upgrade
            .ok_or(Fault::Malformed("101 without Upgrade"))?;
        head.lines
            .extend_from_slice(b"Connection: Upgrade\r\nUpgrade: ");
        head.lines.extend_from_slice(protocol);
        head.lines.extend_from_slice(b"\r\n");
    }
    Ok(Parsed {
        head,
        chunked: notes.chunked,
        keeps: notes.keeps,
    })
}

/// What the fields say about framing and the connection.
#[derive(Default)]
struct Notes<'b> {
    length: Option<u64>,
    chunked: bool,
    keeps: bool,
    has_date: bool,
    has_server: bool,
    upgrade: Option<&'b [u8]>,
    /// Of the Connection field.
    options: Option<&'b [u8]>,
}

impl<'b> Notes<'b> {
    fn field(&mut self, name: &str, value: &'b [u8]) -> Result<(), Fault> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        match name.len() {
            4 if is("date") => self.has_date = true,
            6 if is("server") => self.has_server = true,
            7 if is("upgrade") => self.upgrade = Some(value),
            10 if is("connection") => self.connection(value),
            14 if is("content-length") => {
                let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
                let text = std::str::from_utf8(value).ok().filter(|_| digits);
                let length = text.and_then(|text| text.parse().ok());
                let length = length.ok_or(Fault::Malformed("Content-Length is not a number"))?;
                if self.length.replace(length).is_some() {
                    return Err(Fault::Malformed("more than one Content-Length"));
                }
            }
            17 if is("transfer-encoding") => {
                if self.chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Fault::Malformed("a Transfer-Encoding other than chunked"));
                }
                self.chunked = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn connection(&mut self, value: &'b [u8]) {
        self.options = Some(value);
        for option in value.split(|&byte| byte == b',') {
            let option = option.trim_ascii();
            if option.eq_ignore_ascii_case(b"close") {
                self.keeps = false;
            } else if option.eq_ignore_ascii_case(b"keep-alive") {
                self.keeps = true;
            }
        }
    }

    /// The Connection field names it: it was for us.
    fn names(&self, name: &str) -> bool {
        let Some(options) = self.options else {
            return false;
        };
        let mut options = options.split(|&byte| byte == b',');
        let named = |option: &[u8]| option.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
        options.any(named) && !name.eq_ignore_ascii_case("set-cookie")
    }
}

fn is_connections(name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "connection",
        "keep-alive",
        "proxy-connection",
        "transfer-encoding",
        "upgrade",
        "trailer",
        "te",
        "proxy-authenticate",
    ];
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

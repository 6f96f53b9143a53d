//! Reads one FastCGI request: CGI variables and a body.

use crate::record::{self, Record};
use mehari_edge::{Attribute, Stage, Visit};
use mehari_fastcgi::{BEGIN_REQUEST, PARAMS, STDIN};
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;

/// The largest number of bytes of variables in a request.
const PARAMETERS: usize = 4 * 1024 * 1024;

pub enum Received {
    Request(Request),
    End,
}

pub struct Request {
    pub number: u16,
    pub keeps_connection: bool,
    variables: Vec<(Vec<u8>, Vec<u8>)>,
    body: Vec<u8>,
}

/// Reads a whole request.
///
/// # Errors
///
/// `InvalidData` for records in the wrong order, or the error of the connection.
pub fn receive(input: &mut impl Read) -> io::Result<Received> {
    let Some(begin) = record::read(input)? else {
        return Ok(Received::End);
    };
    if begin.kind != BEGIN_REQUEST || begin.content.len() < 3 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let parameters = stream(input, &begin, PARAMS, PARAMETERS)?;
    // The front has applied LimitRequestBody already.
    let body = stream(input, &begin, STDIN, usize::MAX)?;
    Ok(Received::Request(Request {
        number: begin.number,
        keeps_connection: begin.content[2] & 1 != 0,
        variables: mehari_fastcgi::pairs(&parameters).ok_or(io::ErrorKind::InvalidData)?,
        body,
    }))
}

/// Joins the records of one kind up to an empty record.
fn stream(input: &mut impl Read, begin: &Record, kind: u8, most: usize) -> io::Result<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let record = record::read(input)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let expected = record.kind == kind && record.number == begin.number;
        if !expected || whole.len() + record.content.len() > most {
            // FCGI_ABORT_REQUEST also ends the connection, because the server does not wait for the
            // answer.
            return Err(io::ErrorKind::InvalidData.into());
        }
        if record.content.is_empty() {
            return Ok(whole);
        }
        whole.extend_from_slice(&record.content);
    }
}

impl Request {
    fn variable(&self, name: &str) -> &[u8] {
        let mut variables = self.variables.iter();
        let known = variables.find(|(known, _)| known == name.as_bytes());
        known.map_or(&[], |(_, value)| value)
    }

    /// Returns the path of the script to run.
    pub fn script(&self) -> OsString {
        OsString::from_vec(self.variable("SCRIPT_FILENAME").to_vec())
    }

    /// Returns the request in the form that edge scripts get.
    pub fn into_visit(self) -> Box<Visit> {
        use Attribute::*;
        let mut visit = Box::new(Visit::new(Stage::PhysicalPath));
        for (attribute, name) in [
            (PhysicalPath, "SCRIPT_FILENAME"),
            (PhysicalDocRoot, "DOCUMENT_ROOT"),
            (PhysicalBaseDir, "DOCUMENT_ROOT"),
            (PhysicalRelPath, "SCRIPT_NAME"),
            (UriScheme, "REQUEST_SCHEME"),
            (UriAuthority, "HTTP_HOST"),
            (UriQuery, "QUERY_STRING"),
            (RequestMethod, "REQUEST_METHOD"),
            (RequestUri, "REQUEST_URI"),
            (RequestOrigUri, "REQUEST_URI"),
            (RequestProtocol, "SERVER_PROTOCOL"),
            (RequestPathInfo, "PATH_INFO"),
            (RemoteAddress, "REMOTE_ADDR"),
            (RemotePort, "REMOTE_PORT"),
            (ServerAddress, "SERVER_ADDR"),
            (ServerPort, "SERVER_PORT"),
            (ServerName, "SERVER_NAME"),
        ] {
            visit.set_attribute(attribute, self.variable(name));
        }
        let path = [self.variable("SCRIPT_NAME"), self.variable("PATH_INFO")].concat();
        visit.set_attribute(UriPath, &path);
        let uri = self.variable("REQUEST_URI");
        let raw = uri.split(|byte| *byte == b'?').next().unwrap_or_default();
        visit.set_attribute(UriPathRaw, raw);
        for (name, value) in &self.variables {
            let field = match name.as_slice() {
                b"CONTENT_TYPE" => Some(b"Content-Type".to_vec()),
                b"CONTENT_LENGTH" => Some(b"Content-Length".to_vec()),
                name => name.strip_prefix(b"HTTP_").map(field_name),
            };
            if let Some(field) = field {
                visit.request.push(&field, value);
            }
            visit.environment.push(name, value);
        }
        visit.tell_body(self.body);
        visit
    }
}

/// Turns `ACCEPT_LANGUAGE` into `Accept-Language`.
fn field_name(name: &[u8]) -> Vec<u8> {
    let mut begins = true;
    let letters = name.iter().map(|byte| {
        let letter = match (byte, begins) {
            (b'_', _) => b'-',
            (byte, true) => *byte,
            (byte, false) => byte.to_ascii_lowercase(),
        };
        begins = letter == b'-';
        letter
    });
    letters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, content: &[u8]) -> Vec<u8> {
        let length = (content.len() as u16).to_be_bytes();
        [&[1, kind, 0, 1, length[0], length[1], 0, 0], content].concat()
    }

    #[test]
    fn a_request_has_its_variables_and_body() {
        let long = vec![b'v'; 200];
        let mut pairs = b"\x0b\x05SCRIPT_NAME/x.lu\x14\x02HTTP_ACCEPT_LANGUAGEen".to_vec();
        pairs.extend_from_slice(b"\x04\x80\0\0\xc8LONG");
        pairs.extend_from_slice(&long);
        let bytes = [
            record(1, &[0, 1, 1, 0, 0, 0, 0, 0]),
            record(4, &pairs[..20]),
            record(4, &pairs[20..]),
            record(4, b""),
            record(5, b"bo"),
            record(5, b"dy"),
            record(5, b""),
        ]
        .concat();
        let Ok(Received::Request(request)) = receive(&mut &bytes[..]) else {
            panic!("no request");
        };
        assert!(request.keeps_connection);
        assert_eq!(request.variable("LONG"), long);
        let visit = request.into_visit();
        assert_eq!(visit.attribute(Attribute::UriPath), Some(&b"/x.lu"[..]));
        assert_eq!(visit.request.get(b"accept-language"), Some(&b"en"[..]));
        assert_eq!(visit.request_body(), Some(&b"body"[..]));
    }

    #[test]
    fn broken_streams_are_refused() {
        let begin = record(1, &[0, 1, 1, 0, 0, 0, 0, 0]);
        for broken in [
            record(4, b"\x05"),
            record(4, b"\x01\x01a"),
            record(4, b"\xff\xff\xff\xff\xff\xff\xff\xff"),
            record(5, b""),
            record(2, b""),
        ] {
            let bytes = [begin.clone(), broken, record(4, b""), record(5, b"")].concat();
            assert!(receive(&mut &bytes[..]).is_err());
        }
        assert!(receive(&mut &record(4, b"")[..]).is_err());
    }
}

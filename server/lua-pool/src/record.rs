//! Reads and writes FastCGI records on the responder's side (FastCGI 1.0 sections 3.3 to 5).

use mehari_fastcgi::{Header, END_REQUEST, HEADER, STDERR, STDOUT};
use std::io::{self, IoSlice, Read, Write};

/// The longest content of a record in bytes.
pub const LARGEST: usize = 65_535;
/// The number of bytes that are gathered before they are sent.
const GATHERED: usize = 64 * 1024;

pub struct Record {
    pub kind: u8,
    pub number: u16,
    pub content: Vec<u8>,
}

/// Reads the next record. Returns `None` if the other side has closed the connection.
///
/// # Errors
///
/// `UnexpectedEof` within a record. `InvalidData` for a version other than 1.
pub fn read(input: &mut impl Read) -> io::Result<Option<Record>> {
    let mut header = [0; HEADER];
    let mut known = 0;
    while known < HEADER {
        match input.read(&mut header[known..])? {
            0 if known == 0 => return Ok(None),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => known += count,
        }
    }
    let header = mehari_fastcgi::header(header).ok_or(io::ErrorKind::InvalidData)?;
    let mut content = vec![0; header.length + header.padding];
    input.read_exact(&mut content)?;
    content.truncate(header.length);
    Ok(Some(Record {
        kind: header.kind,
        number: header.id,
        content,
    }))
}

/// Writes the response to one request.
pub struct Writer<'a, W> {
    output: &'a mut W,
    number: u16,
    gathered: Vec<u8>,
}

impl<'a, W: Write> Writer<'a, W> {
    pub fn new(output: &'a mut W, number: u16) -> Writer<'a, W> {
        Writer {
            output,
            number,
            gathered: Vec::new(),
        }
    }

    pub fn output(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream(STDOUT, bytes)
    }

    pub fn complain(&mut self, text: &str) -> io::Result<()> {
        self.stream(STDERR, text.as_bytes())
    }

    /// Ends the request and sends the gathered bytes.
    pub fn end(mut self) -> io::Result<()> {
        self.header(STDOUT, 0);
        self.header(END_REQUEST, 8);
        self.gathered.extend_from_slice(&[0; 8]);
        self.send(&[])
    }

    fn stream(&mut self, kind: u8, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(LARGEST) {
            self.header(kind, piece.len() as u16);
            if self.gathered.len() + piece.len() > GATHERED {
                self.send(piece)?
            } else {
                self.gathered.extend_from_slice(piece)
            }
        }
        Ok(())
    }

    fn header(&mut self, kind: u8, length: u16) {
        let header = Header {
            kind,
            id: self.number,
            length: usize::from(length),
            padding: 0,
        };
        self.gathered.extend_from_slice(&header.bytes());
    }

    fn send(&mut self, behind: &[u8]) -> io::Result<()> {
        let all = self.gathered.len() + behind.len();
        let slices = [IoSlice::new(&self.gathered), IoSlice::new(behind)];
        let sent = self.output.write_vectored(&slices)?;
        if sent < all {
            let from = sent.min(self.gathered.len());
            self.output.write_all(&self.gathered[from..])?;
            self.output.write_all(&behind[sent - from..])?;
        }
        self.gathered.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_records_are_read_back() {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, 7);
        let long = vec![b'x'; 150_000];
        writer.output(b"head").expect("memory");
        writer.output(&long).expect("memory");
        writer.complain("so").expect("memory");
        writer.end().expect("memory");
        let mut input = &bytes[..];
        let (mut said, mut kinds) = (Vec::new(), Vec::new());
        while let Some(record) = read(&mut input).expect("records") {
            assert_eq!(record.number, 7);
            kinds.push(record.kind);
            if record.kind == STDOUT {
                said.extend_from_slice(&record.content);
            }
        }
        assert_eq!(said, [&b"head"[..], &long].concat());
        assert_eq!(kinds, [6, 6, 6, 6, 7, 6, 3]);
    }

    #[test]
    fn half_a_record_is_an_error_and_no_record_is_the_end() {
        assert!(read(&mut &b""[..]).expect("an end").is_none());
        for bytes in [
            &b"\x01"[..],
            b"\x01\x04\0\x01\0\x05\0\0ab",
            b"\x02\x04\0\x01\0\0\0\0",
        ] {
            assert!(read(&mut &bytes[..]).is_err(), "{bytes:?}");
        }
    }
}

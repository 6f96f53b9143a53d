//! Is a small HTTP/1.1 client that accepts only what RFC 9112 allows.
//!
//! A test can send malformed bytes with [`Connection::write`]. The client always parses responses
//! strictly, so wrong framing fails the test.

use crate::head::{malformed, parse_head, position};
use crate::{Answer, Request, PATIENCE};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// A connection to the server, and the received bytes that belong to no response yet.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub fn open(address: SocketAddr) -> Connection {
        Connection::try_open(address).expect("the server accepts connections")
    }

    pub fn try_open(address: SocketAddr) -> io::Result<Connection> {
        let stream = again(|| TcpStream::connect_timeout(&address, PATIENCE))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Connection {
            stream,
            buffer: Vec::new(),
        })
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub fn patience(&mut self, longest: Duration) -> &mut Self {
        self.stream
            .set_read_timeout(Some(longest))
            .expect("a time limit above zero");
        self
    }

    /// Sends raw bytes. Ignores a failure, because a server may close before it has read all bytes.
    pub fn write(&mut self, bytes: &[u8]) -> &mut Self {
        let _ = self.stream.write_all(bytes);
        self
    }

    /// Sends a request and reads its response.
    pub fn send(&mut self, request: &Request) -> io::Result<Answer> {
        self.stream.write_all(&request.bytes())?;
        self.read_answer(&request.method)
    }

    pub fn half_close(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Reads one response to a request with this method.
    pub fn read_answer(&mut self, method: &str) -> io::Result<Answer> {
        let mut interim = Vec::new();
        loop {
            let mut answer = parse_head(&self.take_head()?)?;
            if (100..200).contains(&answer.status) {
                interim.push(answer.status);
                continue;
            }
            answer.interim = interim;
            self.read_body(method, &mut answer)?;
            return Ok(answer);
        }
    }

    /// Reads until the blank line and returns the block before it.
    fn take_head(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(end) = position(&self.buffer, b"\r\n\r\n") {
                let rest = self.buffer.split_off(end + 4);
                let mut head = std::mem::replace(&mut self.buffer, rest);
                head.truncate(end);
                return Ok(head);
            }
            if self.buffer.len() > 1 << 20 {
                return Err(malformed("a header block of more than a megabyte"));
            }
            if self.fill()? == 0 {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    format!("closed after {:?}", self.buffer.escape_ascii().to_string()),
                ));
            }
        }
    }

    fn read_body(&mut self, method: &str, answer: &mut Answer) -> io::Result<()> {
        let coding = answer.field("transfer-encoding");
        let length = answer.field("content-length");
        if coding.is_some() && length.is_some() {
            return Err(malformed("both Content-Length and Transfer-Encoding"));
        }
        if method == "HEAD" || answer.status == 204 || answer.status == 304 {
            return Ok(());
        }
        match (coding.as_deref(), length) {
            (Some("chunked"), _) => self.read_chunks(answer),
            (Some(other), _) => Err(malformed(&format!("Transfer-Encoding: {other}"))),
            (None, Some(length)) => {
                let length: usize = length
                    .parse()
                    .map_err(|_| malformed(&format!("Content-Length: {length}")))?;
                answer.complete = self.read_exactly(length, &mut answer.body)?;
                Ok(())
            }
            (None, None) => {
                while self.fill()? > 0 {}
                answer.body = std::mem::take(&mut self.buffer);
                Ok(())
            }
        }
    }

    fn read_chunks(&mut self, answer: &mut Answer) -> io::Result<()> {
        loop {
            let Some(line) = self.take_line()? else {
                answer.complete = false;
                return Ok(());
            };
            let size = std::str::from_utf8(&line)
                .ok()
                .filter(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit()))
                .and_then(|text| usize::from_str_radix(text, 16).ok())
                .ok_or_else(|| malformed(&format!("chunk size {}", line.escape_ascii())))?;
            if size > 0 && !self.read_exactly(size, &mut answer.body)? {
                answer.complete = false;
                return Ok(());
            }
            // Trailer fields and an empty line follow the last chunk. Only an empty line follows
            // each other chunk.
            loop {
                match self.take_line()? {
                    None => {
                        answer.complete = false;
                        return Ok(());
                    }
                    Some(line) if line.is_empty() => break,
                    Some(_) if size == 0 => continue,
                    Some(line) => {
                        return Err(malformed(&format!("chunk end {}", line.escape_ascii())))
                    }
                }
            }
            if size == 0 {
                return Ok(());
            }
        }
    }

    /// Appends this many bytes of the stream. Returns false if the connection ends before.
    fn read_exactly(&mut self, length: usize, into: &mut Vec<u8>) -> io::Result<bool> {
        let mut left = length;
        loop {
            let usable = left.min(self.buffer.len());
            into.extend(self.buffer.drain(..usable));
            left -= usable;
            if left == 0 {
                return Ok(true);
            }
            if self.fill()? == 0 {
                return Ok(false);
            }
        }
    }

    fn take_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(end) = position(&self.buffer, b"\r\n") {
                let mut line: Vec<u8> = self.buffer.drain(..end + 2).collect();
                line.truncate(end);
                return Ok(Some(line));
            }
            if self.fill()? == 0 {
                return Ok(None);
            }
        }
    }

    /// Reads the bytes that have arrived, and returns their number: 0 at the end of the stream. A
    /// reset counts as the end.
    pub fn fill(&mut self) -> io::Result<usize> {
        let mut piece = [0u8; 65536];
        match again(|| self.stream.read(&mut piece)) {
            Ok(count) => {
                self.buffer.extend_from_slice(&piece[..count]);
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Returns the received bytes that belong to no response yet.
    pub fn unread(&self) -> &[u8] {
        &self.buffer
    }

    /// Discards the first `count` bytes of [`Connection::unread`].
    pub fn forget(&mut self, count: usize) {
        self.buffer.drain(..count);
    }

    /// Returns whether the server closes the connection without sending more bytes. Waits for it as
    /// long as the time limit of the connection allows.
    pub fn is_closed_by_server(&mut self) -> bool {
        self.buffer.is_empty() && matches!(self.fill(), Ok(0))
    }
}

/// Repeats a system call that was interrupted because the test process was stopped and continued.
fn again<T>(mut call: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

//! A client that sends exactly the bytes of a test, with a time limit on every wait.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(10);

pub struct Client {
    pub socket: TcpStream,
    unread: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Response {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        let socket = TcpStream::connect(address).expect("the front listens");
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Client {
            socket,
            unread: Vec::new(),
        }
    }

    /// Sends bytes. Errors are ignored, because the front may close the connection early.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.socket.write_all(bytes.as_ref());
    }

    pub fn half_close(&mut self) {
        self.socket.shutdown(Shutdown::Write).expect("a socket");
    }

    /// Closes the client's sending side. The front may already have closed the connection.
    pub fn half_close_quietly(&mut self) {
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    pub fn get(&mut self, path: &str) -> Response {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    }

    pub fn ask(&mut self, request: &str) -> Response {
        self.send(request);
        self.response(request.starts_with("HEAD "))
    }

    /// Reads the next final response. The header section decides where the response ends.
    pub fn response(&mut self, to_head: bool) -> Response {
        loop {
            let (status, head) = self.head();
            if status >= 200 {
                let body = self.body(status, &head, to_head);
                return Response { status, head, body };
            }
        }
    }

    /// Reads the next header section, which may belong to an interim response.
    pub fn head(&mut self) -> (u16, String) {
        let end = self.read_until(b"\r\n\r\n");
        let head: Vec<u8> = self.unread.drain(..end).collect();
        let head = String::from_utf8(head).expect("a head in ASCII");
        let status = head.get(9..12).and_then(|digits| digits.parse().ok());
        (
            status.unwrap_or_else(|| panic!("no status in {head:?}")),
            head,
        )
    }

    fn body(&mut self, status: u16, head: &str, to_head: bool) -> Vec<u8> {
        let head = head.to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1).map(|rest| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<usize>().expect("a length")
        });
        if to_head || status == 204 || status == 304 {
            return Vec::new();
        }
        if head.contains("transfer-encoding: chunked") {
            return self.chunks();
        }
        match length {
            Some(length) => self.exactly(length),
            None => self.rest(),
        }
    }

    fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let end = self.read_until(b"\r\n");
            let line: Vec<u8> = self.unread.drain(..end).collect();
            let line = String::from_utf8(line).expect("a size line");
            let size = usize::from_str_radix(line.trim_end(), 16).expect("a size");
            let chunk = self.exactly(size + 2);
            assert!(chunk.ends_with(b"\r\n"));
            if size == 0 {
                return body;
            }
            body.extend_from_slice(&chunk[..size]);
        }
    }

    pub fn exactly(&mut self, count: usize) -> Vec<u8> {
        while self.unread.len() < count {
            assert!(self.read_some() > 0, "closed within a body");
        }
        self.unread.drain(..count).collect()
    }

    /// Reads everything until the front closes the connection.
    pub fn rest(&mut self) -> Vec<u8> {
        while self.read_some() > 0 {}
        std::mem::take(&mut self.unread)
    }

    /// Asserts that the front closes the connection and sends nothing before.
    pub fn expect_close(&mut self) {
        let rest = self.rest();
        assert!(
            rest.is_empty(),
            "more than was expected: {}",
            rest.escape_ascii()
        );
    }

    fn read_until(&mut self, mark: &[u8]) -> usize {
        loop {
            let found = self
                .unread
                .windows(mark.len())
                .position(|window| window == mark);
            if let Some(at) = found {
                return at + mark.len();
            }
            let count = self.read_some();
            assert!(
                count > 0,
                "closed after {:?}",
                self.unread.escape_ascii().to_string()
            );
        }
    }

    fn read_some(&mut self) -> usize {
        let mut piece = [0; 65536];
        match self.socket.read(&mut piece) {
            Ok(count) => {
                self.unread.extend_from_slice(&piece[..count]);
                count
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => 0,
            Err(error) => panic!("the front neither answers nor closes: {error}"),
        }
    }
}

/// Waits until a condition holds. Fails after a time limit.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

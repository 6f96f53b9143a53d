//! Makes HTTP/2 frames as bytes, and provides a client that sends frames one by one.

use super::Stand;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PUSH_PROMISE: u8 = 5;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const END_STREAM: u8 = 1;
pub const ACK: u8 = 1;
pub const END_HEADERS: u8 = 4;
pub const PADDED: u8 = 8;
pub const WITH_PRIORITY: u8 = 32;
/// The flags of a HEADERS frame that is a whole request without a body.
pub const WHOLE: u8 = END_STREAM | END_HEADERS;

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let size = (payload.len() as u32).to_be_bytes();
    let mut frame = vec![size[1], size[2], size[3], kind, flags];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// Encodes a literal field that is not added to the table.
pub fn field(name: &str, value: &str) -> Vec<u8> {
    let mut block = vec![0, name.len() as u8];
    block.extend_from_slice(name.as_bytes());
    block.push(value.len() as u8);
    block.extend_from_slice(value.as_bytes());
    block
}

/// Encodes the fields of `GET /file.txt` for the host `x`, and then these fields.
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = vec![0x82, 0x86];
    block.extend(field(":path", "/file.txt"));
    block.extend(field(":authority", "x"));
    fields
        .iter()
        .for_each(|(name, value)| block.extend(field(name, value)));
    block
}

pub fn get(stream: u32) -> Vec<u8> {
    frame(HEADERS, WHOLE, stream, &block(&[]))
}

/// Makes a request with exactly these fields.
pub fn bare(fields: &[(&str, &str)]) -> Vec<u8> {
    let block: Vec<u8> = fields
        .iter()
        .flat_map(|(name, value)| field(name, value))
        .collect();
    frame(HEADERS, WHOLE, 1, &block)
}

pub fn with(fields: &[(&str, &str)]) -> Vec<u8> {
    frame(HEADERS, WHOLE, 1, &block(fields))
}

pub fn setting(name: u16, value: u32) -> Vec<u8> {
    let mut payload = name.to_be_bytes().to_vec();
    payload.extend_from_slice(&value.to_be_bytes());
    frame(SETTINGS, 0, 0, &payload)
}

pub fn number(value: u32) -> [u8; 4] {
    value.to_be_bytes()
}

pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

pub struct Client(pub TcpStream);

impl Client {
    /// Opens a connection and sends the preface and empty SETTINGS.
    pub fn open(stand: &Stand) -> Client {
        let mut client = Client(TcpStream::connect(stand.address).expect("it listens"));
        let patience = Some(Duration::from_secs(5));
        client.0.set_read_timeout(patience).expect("a time");
        client.0.set_write_timeout(patience).expect("a time");
        client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        client.send(&frame(SETTINGS, 0, 0, &[]));
        client
    }

    /// Sends bytes. Errors are ignored, because the server may end the connection early.
    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes);
    }

    /// Reads the next frame. `None`: the connection has ended.
    pub fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        self.0.read_exact(&mut payload).ok()?;
        Some(Frame {
            kind: head[3],
            flags: head[4],
            stream: u32::from_be_bytes([head[5], head[6], head[7], head[8]]),
            payload,
        })
    }
}

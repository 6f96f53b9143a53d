//! Writes and reads HTTP/2 as bytes (RFC 9113 section 4, RFC 7541). A test can send invalid frames.

use mehari_harness::{Connection, Server, PATIENCE};
use std::time::Instant;

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

pub const PROTOCOL_ERROR: u32 = 1;
pub const FLOW_CONTROL_ERROR: u32 = 3;
pub const STREAM_CLOSED: u32 = 5;
pub const FRAME_SIZE_ERROR: u32 = 6;
pub const ENHANCE_YOUR_CALM: u32 = 11;

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// Encodes fields as literals that are never indexed, without Huffman coding.
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0x10);
        for text in [name, value] {
            assert!(text.len() < 127, "a length of one byte");
            block.push(text.len() as u8);
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

pub const GET: &[(&str, &str)] = &[
    (":method", "GET"),
    (":scheme", "http"),
    (":path", "/ten.txt"),
    (":authority", "x"),
];

/// Returns a whole request without a body.
pub fn get(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &block(GET))
}

/// Returns the head of a request whose body will follow.
pub fn open(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &block(GET))
}

pub fn settings(pairs: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> = pairs
        .iter()
        .flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
        .collect();
    frame(SETTINGS, 0, 0, &payload)
}

pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl Frame {
    /// Returns the number at this offset of the payload.
    pub fn number(&self, at: usize) -> u32 {
        let bytes = self.payload[at..at + 4].try_into().expect("four bytes");
        u32::from_be_bytes(bytes)
    }
}

pub struct Client {
    connection: Connection,
}

impl Client {
    /// Opens a connection, and sends the preface and these settings.
    pub fn greet(server: &Server, pairs: &[(u16, u32)]) -> Client {
        let mut connection = server.connect();
        connection.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        connection.write(&settings(pairs));
        Client { connection }
    }

    pub fn write(&mut self, bytes: &[u8]) -> &mut Client {
        self.connection.write(bytes);
        self
    }

    /// Returns the next frame, or `None` at the end of the connection.
    pub fn read(&mut self) -> Option<Frame> {
        loop {
            let bytes = self.connection.unread();
            if let Some([a, b, c, kind, flags, s, t, u, v]) = bytes.first_chunk::<9>() {
                let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
                if bytes.len() >= 9 + length {
                    let frame = Frame {
                        kind: *kind,
                        flags: *flags,
                        stream: u32::from_be_bytes([*s, *t, *u, *v]),
                        payload: bytes[9..9 + length].to_vec(),
                    };
                    self.connection.forget(9 + length);
                    return Some(frame);
                }
            }
            if self.connection.fill().expect("no hang") == 0 {
                return None;
            }
        }
    }

    /// Reads until a frame of this kind.
    pub fn until(&mut self, kind: u8) -> Option<Frame> {
        loop {
            let frame = self.read()?;
            if frame.kind == kind {
                return Some(frame);
            }
        }
    }

    /// Reads to the outcome: the error of a GOAWAY before the end of the connection, the error of a
    /// stream reset, or the status of a response.
    pub fn outcome(&mut self) -> StreamOutcome {
        let began = Instant::now();
        while let Some(frame) = self.read() {
            match frame.kind {
                GOAWAY => return self.farewell(frame.number(4)),
                RST_STREAM => return StreamOutcome::Reset(frame.number(0)),
                HEADERS => return StreamOutcome::Status(status(&frame.payload)),
                _ => {}
            }
            assert!(began.elapsed() < PATIENCE, "no outcome");
        }
        StreamOutcome::Closed
    }

    fn farewell(&mut self, reason: u32) -> StreamOutcome {
        while self.read().is_some() {}
        StreamOutcome::GoAway(reason)
    }
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum StreamOutcome {
    Status(u16),
    Reset(u32),
    GoAway(u32),
    Closed,
}

/// Returns the status of a block that begins with `:status`. The status is in the static table, or
/// is a literal with an indexed name.
pub fn status(block: &[u8]) -> u16 {
    const STATIC: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
    match block[0] {
        index @ 0x88..=0x8e => STATIC[usize::from(index - 0x88)],
        // The value is Huffman-coded: digits have five or six bits.
        _ => digits(&block[2..2 + usize::from(block[1] & 0x7f)]),
    }
}

fn digits(bytes: &[u8]) -> u16 {
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let (mut at, mut number) = (0, 0);
    for _ in 0..3 {
        let five = u16::from_str_radix(&bits[at..at + 5], 2).expect("bits");
        let six = u16::from_str_radix(&bits[at..at + 6], 2).expect("bits");
        let (digit, length) = match five {
            0..=2 => (five, 5),
            _ => (six - 0x19 + 3, 6),
        };
        number = number * 10 + digit;
        at += length;
    }
    number
}

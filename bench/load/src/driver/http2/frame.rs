//! Reads and writes HTTP/2 frames (RFC 9113 sections 4 and 6).

pub const HEADER_LENGTH: usize = 9;
pub const FLAG_END_STREAM: u8 = 1;
pub const FLAG_ACK: u8 = 1;
pub const FLAG_END_HEADERS: u8 = 4;
pub const FLAG_PADDED: u8 = 8;
pub const FLAG_PRIORITY: u8 = 0x20;
/// Error code: the stream is no longer wanted.
pub const CANCEL: u32 = 8;
/// Error code: the server has not processed the stream.
pub const REFUSED_STREAM: u32 = 7;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameType(pub u8);

impl FrameType {
    pub const DATA: FrameType = FrameType(0);
    pub const HEADERS: FrameType = FrameType(1);
    pub const RST_STREAM: FrameType = FrameType(3);
    pub const SETTINGS: FrameType = FrameType(4);
    pub const PUSH_PROMISE: FrameType = FrameType(5);
    pub const PING: FrameType = FrameType(6);
    pub const GOAWAY: FrameType = FrameType(7);
    pub const WINDOW_UPDATE: FrameType = FrameType(8);
    pub const CONTINUATION: FrameType = FrameType(9);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub length: usize,
    pub kind: FrameType,
    flags: u8,
    pub stream: u32,
}

impl Header {
    pub fn read(bytes: &[u8]) -> Option<Header> {
        let [a, b, c, kind, flags, s @ ..] = bytes.first_chunk::<HEADER_LENGTH>()?;
        Some(Header {
            length: u32::from_be_bytes([0, *a, *b, *c]) as usize,
            kind: FrameType(*kind),
            flags: *flags,
            stream: u32::from_be_bytes(*s) & 0x7fff_ffff,
        })
    }

    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

pub fn header(out: &mut Vec<u8>, length: usize, kind: FrameType, flags: u8, stream: u32) {
    out.extend_from_slice(&(length as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind.0, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
}

pub fn settings(out: &mut Vec<u8>, values: &[(u16, u32)]) {
    header(out, values.len() * 6, FrameType::SETTINGS, 0, 0);
    for (name, value) in values {
        out.extend_from_slice(&name.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

pub fn window_update(out: &mut Vec<u8>, stream: u32, increment: u32) {
    header(out, 4, FrameType::WINDOW_UPDATE, 0, stream);
    out.extend_from_slice(&increment.to_be_bytes());
}

pub fn reset(out: &mut Vec<u8>, stream: u32, code: u32) {
    header(out, 4, FrameType::RST_STREAM, 0, stream);
    out.extend_from_slice(&code.to_be_bytes());
}

/// Returns the first 32 bits as a number.
pub fn number(bytes: &[u8]) -> Option<u32> {
    bytes
        .first_chunk::<4>()
        .map(|bytes| u32::from_be_bytes(*bytes))
}

/// Returns the header block within a HEADERS payload.
pub fn without_padding(frame: Header, payload: &[u8], priority: u8) -> Option<&[u8]> {
    let (padding, mut rest) = if frame.has(FLAG_PADDED) {
        payload
            .split_first()
            .map(|(first, rest)| (usize::from(*first), rest))?
    } else {
        (0, payload)
    };
    if frame.has(priority) {
        rest = rest.get(5..)?;
    }
    rest.get(..rest.len().checked_sub(padding)?)
}

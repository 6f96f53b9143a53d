//! Records (FastCGI specification section 3.3): eight bytes that say what follows, and what follows.

use crate::spare::Buffer;

pub const BEGIN_REQUEST: u8 = 1;
pub const END_REQUEST: u8 = 3;
pub const PARAMS: u8 = 4;
pub const STDIN: u8 = 5;
pub const STDOUT: u8 = 6;
pub const STDERR: u8 = 7;

pub const HEADER: usize = 8;
/// Content of one record at most, a multiple of eight so that none is padded but the last.
pub const LARGEST: usize = 0xfff8;

const VERSION: u8 = 1;
const ID: u16 = 1;

/// The head of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub kind: u8,
    pub id: u16,
    pub length: usize,
    pub padding: usize,
}

/// `None`: another version of the protocol.
pub fn header(bytes: [u8; HEADER]) -> Option<Header> {
    let [version, kind, id_high, id_low, high, low, padding, _] = bytes;
    (version == VERSION).then_some(Header {
        kind,
        id: u16::from_be_bytes([id_high, id_low]),
        length: usize::from(u16::from_be_bytes([high, low])),
        padding: usize::from(padding),
    })
}

impl Header {
    /// Part of the answer to our request. Records of the connection itself answer what we never ask.
    pub fn is_answer(&self) -> bool {
        self.id == ID && matches!(self.kind, STDOUT | STDERR | END_REQUEST)
    }
}

/// Appends one record; `content` fits it.
pub fn push(kind: u8, content: &[u8], into: &mut Vec<u8>) {
    debug_assert!(content.len() <= LARGEST);
    push_header(kind, content.len(), into);
    into.extend_from_slice(content);
}

fn push_header(kind: u8, length: usize, into: &mut Vec<u8>) {
    let [id_high, id_low] = ID.to_be_bytes();
    let [high, low] = (length as u16).to_be_bytes();
    into.extend_from_slice(&[VERSION, kind, id_high, id_low, high, low, 0, 0]);
}

/// The empty record that ends a stream.
pub fn push_end(kind: u8, into: &mut Vec<u8>) {
    push_header(kind, 0, into);
}

/// A whole stream: as many records as it needs, and its end.
pub fn push_stream(kind: u8, content: &[u8], into: &mut Vec<u8>) {
    for part in content.chunks(LARGEST) {
        push(kind, part, into);
    }
    push_end(kind, into);
}

/// The role Responder on a connection that is kept.
pub fn push_begin(into: &mut Vec<u8>) {
    const RESPONDER: u8 = 1;
    const KEEP_CONN: u8 = 1;
    push(
        BEGIN_REQUEST,
        &[0, RESPONDER, KEEP_CONN, 0, 0, 0, 0, 0],
        into,
    );
}

/// Parameters in records. A pair that fits a record is in one: PHP reads them no other way.
pub struct Params {
    records: Buffer,
    /// Where the record under way begins.
    start: usize,
}

impl Params {
    /// Behind these records.
    pub fn behind(mut records: Buffer) -> Params {
        let start = records.len();
        push_header(PARAMS, 0, &mut records);
        Params { records, start }
    }

    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        let pair = self.records.len();
        push_pair(name, value, &mut self.records);
        if self.records.len() - self.start - HEADER <= LARGEST {
            return;
        }
        let pair = self.records.split_off(pair);
        self.close();
        for part in pair.chunks(LARGEST) {
            self.start = self.records.len();
            push(PARAMS, part, &mut self.records);
        }
    }

    /// Writes the length of the record under way; one that is empty would end the stream.
    fn close(&mut self) {
        let length = self.records.len() - self.start - HEADER;
        if length == 0 {
            return self.records.truncate(self.start);
        }
        let bytes = (length as u16).to_be_bytes();
        self.records[self.start + 4..self.start + 6].copy_from_slice(&bytes);
    }

    /// All records, and the one that ends them.
    pub fn finish(mut self) -> Buffer {
        self.close();
        push_end(PARAMS, &mut self.records);
        self.records
    }
}

/// A name and its value (section 3.4).
fn push_pair(name: &[u8], value: &[u8], into: &mut Vec<u8>) {
    into.reserve(8 + name.len() + value.len());
    match (name.len(), value.len()) {
        (short @ 0..=127, other @ 0..=127) => {
            into.extend_from_slice(&[short as u8, other as u8]);
        }
        (name, value) => {
            push_length(name, into);
            push_length(value, into);
        }
    }
    into.extend_from_slice(name);
    into.extend_from_slice(value);
}

fn push_length(length: usize, into: &mut Vec<u8>) {
    match length {
        0..=127 => into.push(length as u8),
        _ => into.extend_from_slice(&(length as u32 | 0x8000_0000).to_be_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_longer_than_a_record_is_several_and_an_end() {
        let mut bytes = Vec::new();
        push_stream(PARAMS, &vec![b'x'; 200_000], &mut bytes);
        let (mut at, mut lengths) = (0, Vec::new());
        while at < bytes.len() {
            let head: [u8; HEADER] = bytes[at..at + HEADER].try_into().expect("eight bytes");
            let head = header(head).expect("version 1");
            assert_eq!((head.kind, head.id), (PARAMS, ID));
            lengths.push(head.length);
            at += HEADER + head.length + head.padding;
        }
        assert_eq!(
            lengths,
            [LARGEST, LARGEST, LARGEST, 200_000 - 3 * LARGEST, 0]
        );
    }

    #[test]
    fn a_pair_stays_within_a_record_and_no_record_is_empty_but_the_last() {
        let mut params = Params::behind(Buffer::default());
        let sizes = [10, 40_000, 30_000, 1, 150_000, 65_000, 10];
        for size in sizes {
            params.push(b"N", &vec![b'v'; size]);
        }
        let bytes = params.finish();
        let (mut at, mut lengths) = (0, Vec::new());
        while at < bytes.len() {
            let head: [u8; HEADER] = bytes[at..at + HEADER].try_into().expect("eight bytes");
            let head = header(head).expect("version 1");
            lengths.push(head.length);
            at += HEADER + head.length;
        }
        let pair = |size: usize| size + 3 + if size > 127 { 3 } else { 0 };
        let expected: usize = sizes.into_iter().map(pair).sum();
        assert_eq!(lengths.iter().sum::<usize>(), expected, "{lengths:?}");
        assert_eq!(lengths.last(), Some(&0));
        assert!(lengths[..lengths.len() - 1]
            .iter()
            .all(|&length| length > 0));
    }

    #[test]
    fn only_records_of_an_answer_to_our_request_are_taken() {
        const MANAGEMENT: [u8; 3] = [9, 10, 11];
        let is_answer = |kind, id: u16| {
            let [high, low] = id.to_be_bytes();
            let head = header([VERSION, kind, high, low, 0, 0, 0, 0]);
            head.expect("version 1").is_answer()
        };
        for kind in [STDOUT, STDERR, END_REQUEST] {
            assert!(is_answer(kind, ID), "{kind}");
            assert!(!is_answer(kind, 0) && !is_answer(kind, 2), "{kind}");
        }
        for kind in [0, BEGIN_REQUEST, PARAMS, STDIN, 255]
            .into_iter()
            .chain(MANAGEMENT)
        {
            assert!(!is_answer(kind, ID) && !is_answer(kind, 0), "{kind}");
        }
    }

    #[test]
    fn lengths_take_one_byte_or_four() {
        for (length, expected) in [
            (0, &[0][..]),
            (127, &[127]),
            (128, &[0x80, 0, 0, 128]),
            (70_000, &[0x80, 1, 0x11, 0x70]),
        ] {
            let mut bytes = Vec::new();
            push_length(length, &mut bytes);
            assert_eq!(bytes, expected);
        }
    }
}

//! Records (FastCGI specification section 3.3): a header of eight bytes, then content and padding.

pub const BEGIN_REQUEST: u8 = 1;
pub const END_REQUEST: u8 = 3;
pub const PARAMS: u8 = 4;
pub const STDIN: u8 = 5;
pub const STDOUT: u8 = 6;
pub const STDERR: u8 = 7;

pub const HEADER: usize = 8;
/// The longest content of one record in bytes. It is a multiple of eight, so only the last record
/// needs padding.
pub const LARGEST: usize = 0xfff8;

const VERSION: u8 = 1;
/// The number of the request. Our connections carry only one request at a time.
pub const REQUEST: u16 = 1;

/// The header of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub kind: u8,
    pub id: u16,
    pub length: usize,
    pub padding: usize,
}

/// Reads a header. Returns `None` if the version of the protocol is not 1.
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
    /// Returns the header's bytes as they are sent.
    #[inline]
    pub fn bytes(&self) -> [u8; HEADER] {
        let [id_high, id_low] = self.id.to_be_bytes();
        let [high, low] = (self.length as u16).to_be_bytes();
        let padding = self.padding as u8;
        [VERSION, self.kind, id_high, id_low, high, low, padding, 0]
    }

    /// Returns whether the record belongs to the answer to our request. Records about the
    /// connection itself answer questions that we never ask.
    pub fn is_answer(&self) -> bool {
        self.id == REQUEST && matches!(self.kind, STDOUT | STDERR | END_REQUEST)
    }
}

/// Appends one record. `content` must fit into the record.
pub fn push(kind: u8, content: &[u8], into: &mut Vec<u8>) {
    debug_assert!(content.len() <= LARGEST);
    push_header(kind, content.len(), into);
    into.extend_from_slice(content);
}

/// Appends the header of a record of our request. `length` is at most 65,535.
#[inline]
pub fn push_header(kind: u8, length: usize, into: &mut Vec<u8>) {
    let header = Header {
        kind,
        id: REQUEST,
        length,
        padding: 0,
    };
    into.extend_from_slice(&header.bytes());
}

/// Appends the empty record that ends a stream.
pub fn push_end(kind: u8, into: &mut Vec<u8>) {
    push_header(kind, 0, into);
}

/// Appends a whole stream: as many records as the content needs, and the empty record.
pub fn push_stream(kind: u8, content: &[u8], into: &mut Vec<u8>) {
    for part in content.chunks(LARGEST) {
        push(kind, part, into);
    }
    push_end(kind, into);
}

/// Appends the record that begins a request: the role Responder, on a connection that stays open.
pub fn push_begin(into: &mut Vec<u8>) {
    const RESPONDER: u8 = 1;
    const KEEP_CONN: u8 = 1;
    push(
        BEGIN_REQUEST,
        &[0, RESPONDER, KEEP_CONN, 0, 0, 0, 0, 0],
        into,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_stream_becomes_several_records_and_an_end() {
        let mut bytes = Vec::new();
        push_stream(PARAMS, &vec![b'x'; 200_000], &mut bytes);
        let (mut at, mut lengths) = (0, Vec::new());
        while at < bytes.len() {
            let head: [u8; HEADER] = bytes[at..at + HEADER].try_into().expect("eight bytes");
            let head = header(head).expect("version 1");
            assert_eq!((head.kind, head.id), (PARAMS, REQUEST));
            lengths.push(head.length);
            at += HEADER + head.length + head.padding;
        }
        assert_eq!(
            lengths,
            [LARGEST, LARGEST, LARGEST, 200_000 - 3 * LARGEST, 0]
        );
    }

    #[test]
    fn is_answer_holds_only_for_records_of_our_request() {
        const MANAGEMENT: [u8; 3] = [9, 10, 11];
        let is_answer = |kind, id: u16| {
            let [high, low] = id.to_be_bytes();
            let head = header([VERSION, kind, high, low, 0, 0, 0, 0]);
            head.expect("version 1").is_answer()
        };
        for kind in [STDOUT, STDERR, END_REQUEST] {
            assert!(is_answer(kind, REQUEST), "{kind}");
            assert!(!is_answer(kind, 0) && !is_answer(kind, 2), "{kind}");
        }
        for kind in [0, BEGIN_REQUEST, PARAMS, STDIN, 255]
            .into_iter()
            .chain(MANAGEMENT)
        {
            assert!(!is_answer(kind, REQUEST) && !is_answer(kind, 0), "{kind}");
        }
    }
}

//! Writes the parameters of a request as FastCGI records.

use mehari_fastcgi::{push, push_end, push_header, push_pair, HEADER, LARGEST, PARAMS};
use mehari_net::buffer_pool::Buffer;

/// Parameters in records. A name and value that fit into one record are not split, because PHP
/// cannot read a split pair.
pub struct Params {
    records: Buffer,
    /// The position in `records` at which the current record starts.
    start: usize,
}

impl Params {
    /// Appends the parameters to these records.
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

    /// Writes the length of the current record. An empty record would end the stream.
    fn close(&mut self) {
        let length = self.records.len() - self.start - HEADER;
        if length == 0 {
            return self.records.truncate(self.start);
        }
        let bytes = (length as u16).to_be_bytes();
        self.records[self.start + 4..self.start + 6].copy_from_slice(&bytes);
    }

    /// Returns all records. The last record is empty and ends the stream.
    pub fn finish(mut self) -> Buffer {
        self.close();
        push_end(PARAMS, &mut self.records);
        self.records
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mehari_fastcgi::header;

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
}

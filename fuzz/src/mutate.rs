//! Mutates valid input: cuts, doubles, swaps and joins pieces, changes bytes and numbers.

/// The random generator xorshift64. The same seed gives the same sequence.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed | 1)
    }

    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number below `limit`, or 0 if `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.number() % limit.max(1) as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// Byte strings that often break text parsers.
const WORDS: &[&[u8]] = &[
    b"\r\n",
    b"\n",
    b"\r",
    b"\0",
    b"\r\n\r\n",
    b" ",
    b"\t",
    b":",
    b"/",
    b"../",
    b"%2e",
    b"%00",
    b"%",
    b"\"",
    b"<",
    b">",
    b"\\",
    b"-1",
    b"0",
    b"00",
    b"18446744073709551615",
    b"18446744073709551616",
    b"ffffffffffffffff",
    b"99999999999999999999",
    b"1e9",
    b"0x10",
    b"Content-Length: 5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Host: a\r\n",
    b"HTTP/1.1",
    b"HTTP/2.0",
    b"\xff\xfe",
    b"\xc3\x28",
    b"\xef\xbb\xbf",
];

/// Applies one to four changes to one of the inputs.
pub fn mutate(corpus: &[Vec<u8>], random: &mut Random, longest: usize) -> Vec<u8> {
    let mut bytes = random.pick(corpus).clone();
    for _ in 0..1 + random.below(4) {
        change(&mut bytes, corpus, random);
        bytes.truncate(longest);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let length = random.below((bytes.len() - at).min(64) + 1);
    match random.below(9) {
        0 => drop(bytes.drain(at..at + length)),
        1 => bytes.truncate(at),
        2 => {
            let word = *random.pick(WORDS);
            bytes.splice(at..at, word.iter().copied());
        }
        3 => {
            let word = *random.pick(WORDS);
            bytes.splice(at..at + length, word.iter().copied());
        }
        4 => {
            let piece = bytes[at..at + length].to_vec();
            for _ in 0..random.below(40) {
                bytes.splice(at..at, piece.iter().copied());
            }
        }
        5 => {
            let other = random.pick(corpus);
            let from = random.below(other.len() + 1);
            bytes.splice(at.., other[from..].iter().copied());
        }
        6 if at < bytes.len() => bytes[at] = random.number() as u8,
        7 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        _ => {
            let byte = random.number() as u8;
            bytes.splice(at..at, std::iter::repeat_n(byte, random.below(300)));
        }
    }
}

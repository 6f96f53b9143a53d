//! A place in the text of a pattern.

use std::ops::Range;

#[derive(Clone, Copy)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    pub(super) at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Cursor<'t> {
        Cursor { text, at: 0 }
    }

    pub(super) fn rest(&self) -> &'t [u8] {
        &self.text.as_bytes()[self.at..]
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    pub(super) fn next(&mut self) -> Option<u8> {
        let byte = self.peek();
        self.at += usize::from(byte.is_some());
        byte
    }

    pub(super) fn take(&mut self, expected: &[u8]) -> bool {
        let found = self.rest().starts_with(expected);
        self.at += if found { expected.len() } else { 0 };
        found
    }

    pub(super) fn skip_past(&mut self, byte: u8) {
        while self.next().is_some_and(|next| next != byte) {}
    }

    /// Returns what stands before the next `end`.
    pub(super) fn until(&self, end: &str) -> Option<&'t str> {
        let rest = self.text.get(self.at..)?;
        rest.split_once(end).map(|(before, _)| before)
    }

    /// Reads a text between `\Q` and `\E`.
    pub(super) fn quoted(&mut self) -> &'t [u8] {
        let rest = self.rest();
        let length = self.until("\\E").map_or(rest.len(), str::len);
        self.at += length;
        self.take(b"\\E");
        &rest[..length]
    }

    /// Returns the byte that the escape with this letter stands for, and reads its digits.
    pub(super) fn single(&mut self, letter: u8) -> Option<u8> {
        match letter {
            b'a' => Some(0x07),
            b'e' => Some(0x1b),
            b'f' => Some(0x0c),
            b'n' => Some(b'\n'),
            b'r' => Some(b'\r'),
            b't' => Some(b'\t'),
            b'x' => self.hexadecimal(),
            other => (!other.is_ascii_alphanumeric()).then_some(other),
        }
    }

    /// Reads two digits, or digits in braces.
    fn hexadecimal(&mut self) -> Option<u8> {
        let Range { start, end } = match self.until("}") {
            Some(digits) if digits.starts_with('{') => self.at + 1..self.at + digits.len(),
            _ => self.at..self.at + 2,
        };
        let digits = self.text.get(start..end)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let byte = u8::from_str_radix(digits, 16).ok()?;
        self.at = if start == self.at { end } else { end + 1 };
        Some(byte)
    }
}

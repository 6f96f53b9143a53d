//! Decodes the chunked coding strictly (RFC 9112 section 7.1). The decoder is a state machine that
//! takes bytes as they arrive.
//!
//! A chunk size may have only hexadecimal digits. Extensions and trailers are read within limits
//! and dropped.

use crate::problem::{bad, Problem};
use crate::token::is_token_byte;

/// The largest number of bytes of chunk extensions in a body. Extensions are never used in
/// practice, so many of them are an attack.
const EXTENSION_LIMIT: usize = 1024;
/// The largest number of digits in a chunk size (60 bits).
const SIZE_DIGITS: u8 = 15;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChunkedState {
    Size,
    Extension,
    SizeEnd,
    Data(u64),
    DataReturn,
    DataEnd,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerEnd,
    LastEnd,
    Done,
}

#[derive(Debug)]
pub struct Decoder {
    state: ChunkedState,
    size: u64,
    digits: u8,
    extension: usize,
    trailer: usize,
    trailer_lines: usize,
    trailer_limit: usize,
    trailer_line_limit: usize,
}

impl Decoder {
    /// Makes a decoder with the limits of the trailer section: the number of bytes and the number
    /// of lines.
    pub fn new(trailer_limit: usize, trailer_line_limit: usize) -> Decoder {
        Decoder {
            state: ChunkedState::Size,
            size: 0,
            digits: 0,
            extension: 0,
            trailer: 0,
            trailer_lines: 0,
            trailer_limit,
            trailer_line_limit,
        }
    }

    #[inline]
    pub fn is_done(&self) -> bool {
        self.state == ChunkedState::Done
    }

    /// Takes bytes from `input` and appends their data to `into`. Stops at the end of the body.
    /// Returns the number of bytes taken.
    ///
    /// # Errors
    ///
    /// A [`Problem`] for a size, extension or trailer that is malformed or exceeds its limit.
    pub fn decode(&mut self, input: &[u8], into: &mut Vec<u8>) -> Result<usize, Problem> {
        let mut at = 0;
        while at < input.len() && self.state != ChunkedState::Done {
            if let ChunkedState::Data(left) = self.state {
                let take = left.min((input.len() - at) as u64) as usize;
                into.extend_from_slice(&input[at..at + take]);
                at += take;
                self.state = match left - take as u64 {
                    0 => ChunkedState::DataReturn,
                    rest => ChunkedState::Data(rest),
                };
            } else {
                self.state = self.step(input[at])?;
                at += 1;
            }
        }
        Ok(at)
    }

    fn step(&mut self, byte: u8) -> Result<ChunkedState, Problem> {
        match (self.state, byte) {
            (ChunkedState::Size, b'\r') if self.digits > 0 => Ok(ChunkedState::SizeEnd),
            (ChunkedState::Size, b';') if self.digits > 0 => Ok(ChunkedState::Extension),
            (ChunkedState::Size, _) => self.size_digit(byte),
            (ChunkedState::Extension, b'\r') => Ok(ChunkedState::SizeEnd),
            (ChunkedState::Extension, _) => self.extension_byte(byte),
            (ChunkedState::SizeEnd, b'\n') => Ok(self.chunk()),
            (ChunkedState::DataReturn, b'\r') => Ok(ChunkedState::DataEnd),
            (ChunkedState::DataEnd, b'\n') => Ok(ChunkedState::Size),
            (ChunkedState::TrailerStart, b'\r') => Ok(ChunkedState::LastEnd),
            (ChunkedState::LastEnd, b'\n') => Ok(ChunkedState::Done),
            (
                ChunkedState::TrailerStart | ChunkedState::TrailerName | ChunkedState::TrailerValue,
                _,
            ) => self.trailer_byte(byte),
            (ChunkedState::TrailerEnd, b'\n') => Ok(ChunkedState::TrailerStart),
            _ => Err(bad("a chunk does not end with CR LF")),
        }
    }

    fn size_digit(&mut self, byte: u8) -> Result<ChunkedState, Problem> {
        let digit = (byte as char)
            .to_digit(16)
            .ok_or(bad("a chunk size is not hexadecimal"))?;
        if self.digits == SIZE_DIGITS {
            return Err(bad("a chunk size has too many digits"));
        }
        self.digits += 1;
        self.size = self.size * 16 + u64::from(digit);
        Ok(ChunkedState::Size)
    }

    fn extension_byte(&mut self, byte: u8) -> Result<ChunkedState, Problem> {
        self.extension += 1;
        if self.extension > EXTENSION_LIMIT {
            return Err(bad("too many chunk extensions"));
        }
        if is_text(byte) {
            Ok(ChunkedState::Extension)
        } else {
            Err(bad("a control byte in a chunk extension"))
        }
    }

    fn chunk(&mut self) -> ChunkedState {
        let size = std::mem::take(&mut self.size);
        self.digits = 0;
        match size {
            0 => ChunkedState::TrailerStart,
            _ => ChunkedState::Data(size),
        }
    }

    fn trailer_byte(&mut self, byte: u8) -> Result<ChunkedState, Problem> {
        self.trailer += 1;
        if self.state == ChunkedState::TrailerStart {
            self.trailer_lines += 1;
        }
        if self.trailer > self.trailer_limit || self.trailer_lines > self.trailer_line_limit {
            return Err(Problem::malformed(431, "the trailer section is too large"));
        }
        match (self.state, byte) {
            (ChunkedState::TrailerName, b':') => Ok(ChunkedState::TrailerValue),
            (ChunkedState::TrailerStart | ChunkedState::TrailerName, _) if is_token_byte(byte) => {
                Ok(ChunkedState::TrailerName)
            }
            (ChunkedState::TrailerValue, b'\r') => Ok(ChunkedState::TrailerEnd),
            (ChunkedState::TrailerValue, _) if is_text(byte) => Ok(ChunkedState::TrailerValue),
            _ => Err(bad("a trailer line is not a field")),
        }
    }
}

fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

#[cfg(test)]
mod tests;

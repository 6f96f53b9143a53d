//! Strict decoder of the chunked coding (RFC 9112 section 7.1): a state machine that takes bytes as
//! they arrive.
//!
//! Sizes are bare hexadecimal digits. Extensions and trailers are read within limits and dropped.

use crate::problem::{bad, Problem};
use crate::token::is_token_byte;

/// The most bytes of chunk extensions in a body. Extensions are never used, so a stream of them is
/// an attack.
const EXTENSION_LIMIT: usize = 1024;
/// The most digits of a chunk size: 60 bits.
const SIZE_DIGITS: u8 = 15;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
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
    state: State,
    size: u64,
    digits: u8,
    extension: usize,
    trailer: usize,
    trailer_lines: usize,
    trailer_limit: usize,
    trailer_line_limit: usize,
}

impl Decoder {
    /// Takes the limits of the trailer section: bytes and lines.
    pub fn new(trailer_limit: usize, trailer_line_limit: usize) -> Decoder {
        Decoder {
            state: State::Size,
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
        self.state == State::Done
    }

    /// Takes bytes from `input`, appends data to `into`, and stops at the body's end. Returns the
    /// number of bytes taken.
    pub fn decode(&mut self, input: &[u8], into: &mut Vec<u8>) -> Result<usize, Problem> {
        let mut at = 0;
        while at < input.len() && self.state != State::Done {
            if let State::Data(left) = self.state {
                let take = left.min((input.len() - at) as u64) as usize;
                into.extend_from_slice(&input[at..at + take]);
                at += take;
                self.state = match left - take as u64 {
                    0 => State::DataReturn,
                    rest => State::Data(rest),
                };
            } else {
                self.state = self.step(input[at])?;
                at += 1;
            }
        }
        Ok(at)
    }

    fn step(&mut self, byte: u8) -> Result<State, Problem> {
        match (self.state, byte) {
            (State::Size, b'\r') if self.digits > 0 => Ok(State::SizeEnd),
            (State::Size, b';') if self.digits > 0 => Ok(State::Extension),
            (State::Size, _) => self.size_digit(byte),
            (State::Extension, b'\r') => Ok(State::SizeEnd),
            (State::Extension, _) => self.extension_byte(byte),
            (State::SizeEnd, b'\n') => Ok(self.chunk()),
            (State::DataReturn, b'\r') => Ok(State::DataEnd),
            (State::DataEnd, b'\n') => Ok(State::Size),
            (State::TrailerStart, b'\r') => Ok(State::LastEnd),
            (State::LastEnd, b'\n') => Ok(State::Done),
            (State::TrailerStart | State::TrailerName | State::TrailerValue, _) => {
                self.trailer_byte(byte)
            }
            (State::TrailerEnd, b'\n') => Ok(State::TrailerStart),
            _ => Err(bad("a chunk does not end with CR LF")),
        }
    }

    fn size_digit(&mut self, byte: u8) -> Result<State, Problem> {
        let digit = (byte as char)
            .to_digit(16)
            .ok_or(bad("a chunk size is not hexadecimal"))?;
        if self.digits == SIZE_DIGITS {
            return Err(bad("a chunk size has too many digits"));
        }
        self.digits += 1;
        self.size = self.size * 16 + u64::from(digit);
        Ok(State::Size)
    }

    fn extension_byte(&mut self, byte: u8) -> Result<State, Problem> {
        self.extension += 1;
        if self.extension > EXTENSION_LIMIT {
            return Err(bad("too many chunk extensions"));
        }
        if is_text(byte) {
            Ok(State::Extension)
        } else {
            Err(bad("a control byte in a chunk extension"))
        }
    }

    fn chunk(&mut self) -> State {
        let size = std::mem::take(&mut self.size);
        self.digits = 0;
        match size {
            0 => State::TrailerStart,
            _ => State::Data(size),
        }
    }

    fn trailer_byte(&mut self, byte: u8) -> Result<State, Problem> {
        self.trailer += 1;
        if self.state == State::TrailerStart {
            self.trailer_lines += 1;
        }
        if self.trailer > self.trailer_limit || self.trailer_lines > self.trailer_line_limit {
            return Err(Problem::malformed(431, "the trailer section is too large"));
        }
        match (self.state, byte) {
            (State::TrailerName, b':') => Ok(State::TrailerValue),
            (State::TrailerStart | State::TrailerName, _) if is_token_byte(byte) => {
                Ok(State::TrailerName)
            }
            (State::TrailerValue, b'\r') => Ok(State::TrailerEnd),
            (State::TrailerValue, _) if is_text(byte) => Ok(State::TrailerValue),
            _ => Err(bad("a trailer line is not a field")),
        }
    }
}

fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

#[cfg(test)]
mod tests;

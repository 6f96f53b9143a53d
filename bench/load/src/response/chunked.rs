//! Decodes the chunked transfer coding (RFC 9112 section 7.1). The decoder checks and counts sizes,
//! extensions and trailers.

use super::{Facts, Fault, Listener, Progress};

#[derive(Debug, Default)]
pub struct Chunks {
    step: Step,
    /// The bytes left in the chunk. On the size line: the size so far. On a line of the trailers:
    /// the first byte.
    left: u64,
    /// The bytes read of the present line.
    column: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Size,
    Extension,
    Data,
    DataEnd,
    Trailer,
}

const LONGEST_LINE: usize = 16 * 1024;

impl Chunks {
    pub fn feed(
        &mut self,
        input: &[u8],
        facts: &mut Facts,
        listener: &mut impl Listener,
    ) -> Result<Progress, Fault> {
        let mut at = 0;
        while at < input.len() {
            if self.step == Step::Data {
                let take = usize::try_from(self.left)
                    .unwrap_or(usize::MAX)
                    .min(input.len() - at);
                listener.body(&input[at..at + take]);
                facts.body_bytes += take as u64;
                self.left -= take as u64;
                at += take;
                if self.left == 0 {
                    self.enter(Step::DataEnd);
                }
                continue;
            }
            let complete = self.take_byte(input[at])?;
            at += 1;
            facts.framing_bytes += 1;
            if complete {
                return Ok(Progress {
                    consumed: at,
                    complete,
                });
            }
        }
        Ok(Progress {
            consumed: at,
            complete: false,
        })
    }

    fn enter(&mut self, step: Step) {
        self.step = step;
        self.column = 0;
    }

    /// Takes one byte of framing. Returns whether the byte ends the trailers.
    fn take_byte(&mut self, byte: u8) -> Result<bool, Fault> {
        self.column += 1;
        if self.column > LONGEST_LINE {
            return Err(Fault::Chunk);
        }
        match (self.step, byte) {
            (Step::Size | Step::Extension, b'\n') => self.size_line_ends()?,
            (Step::Size, b';' | b' ' | b'\t' | b'\r') if self.column > 1 => {
                self.step = Step::Extension
            }
            (Step::Size, digit) => {
                let digit = char::from(digit).to_digit(16).ok_or(Fault::Chunk)?;
                let shifted = self.left.checked_mul(16).ok_or(Fault::Chunk)?;
                self.left = shifted + u64::from(digit);
            }
            (Step::DataEnd, b'\r') if self.column == 1 => {}
            (Step::DataEnd, b'\n') => self.enter(Step::Size),
            (Step::DataEnd, _) => return Err(Fault::Chunk),
            (Step::Trailer, b'\n') => {
                if self.column == 1 || (self.column == 2 && self.left == u64::from(b'\r')) {
                    return Ok(true);
                }
                self.enter(Step::Trailer);
                self.left = 0;
            }
            (Step::Trailer, byte) if self.column == 1 => self.left = u64::from(byte),
            _ => {}
        }
        Ok(false)
    }

    fn size_line_ends(&mut self) -> Result<(), Fault> {
        if self.column == 1 {
            return Err(Fault::Chunk);
        }
        match self.left {
            0 => self.enter(Step::Trailer),
            _ => self.enter(Step::Data),
        }
        Ok(())
    }
}

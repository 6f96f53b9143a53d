//! Finds the end of a request head in bytes that arrive piece by piece, each byte looked at once.
//!
//! Called by the connection after every read, before the tokenizer runs: so a head is tokenized once,
//! and a limit or a bare LF is noticed when it happens, not when the head ends.

use crate::problem::{bad, Problem};
use mehari_config::ConnectionLimits;
use mehari_pool::script_head::is_token_byte;
use std::ops::Range;

/// How far the search has come; all positions count from the request's first byte.
#[derive(Debug, Default)]
pub struct Scan {
    seen: usize,
    line_start: usize,
    /// Where the lines end, those that are not empty: behind their CR LF.
    ends: Vec<u32>,
    /// Empty lines before the request line (RFC 9112 section 2.2): one is forgiven.
    lead: usize,
}

impl Scan {
    /// Looks at what is new in `bytes`. True: the head is complete.
    pub fn advance(&mut self, bytes: &[u8], limits: &ConnectionLimits) -> Result<bool, Problem> {
        if self.seen == 0 {
            check_first_byte(bytes)?;
        }
        while let Some(found) = memchr::memchr(b'\n', &bytes[self.seen..]) {
            let at = self.seen + found;
            if at == 0 || bytes[at - 1] != b'\r' {
                return Err(bad("a line ends with LF alone"));
            }
            let length = at - 1 - self.line_start;
            self.seen = at + 1;
            self.line_start = at + 1;
            if self.line(length, limits)? {
                return Ok(true);
            }
        }
        self.check_unfinished(bytes, limits)?;
        self.seen = bytes.len();
        Ok(false)
    }

    /// The lines of a complete head without their CR LF: the request line, then those of its fields.
    pub fn lines(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut start = self.lead;
        self.ends.iter().map(move |&end| {
            let line = start..end as usize - 2;
            start = end as usize;
            line
        })
    }

    /// Where a complete head ends.
    pub fn end(&self) -> usize {
        self.line_start
    }

    /// The next request begins.
    pub fn begin_anew(&mut self) {
        self.ends.clear();
        *self = Scan {
            ends: std::mem::take(&mut self.ends),
            ..Scan::default()
        };
    }

    /// True until the first byte of a request has been seen.
    pub fn is_untouched(&self) -> bool {
        self.seen == 0
    }

    /// Counts a finished line of `length` bytes. True: it was the empty one at the end.
    fn line(&mut self, length: usize, limits: &ConnectionLimits) -> Result<bool, Problem> {
        if self.ends.is_empty() && length == 0 {
            if self.lead > 0 {
                return Err(bad("empty lines instead of a request line"));
            }
            self.lead = self.line_start;
            return Ok(false);
        }
        self.check_length(length, limits)?;
        if self.line_start - self.lead > limits.header_size {
            return Err(self.too_large());
        }
        if length == 0 {
            return Ok(true);
        }
        self.ends.push(self.line_start as u32);
        if self.ends.len() - 1 > limits.fields {
            return Err(Problem::malformed(431, "too many header fields"));
        }
        Ok(false)
    }

    /// The line that has not ended: its length so far, and a CR that no LF follows.
    fn check_unfinished(&self, bytes: &[u8], limits: &ConnectionLimits) -> Result<(), Problem> {
        let tail = &bytes[self.line_start..];
        if let Some(at) = memchr::memchr(b'\r', tail) {
            if at + 1 < tail.len() {
                return Err(bad("a CR without LF"));
            }
        }
        self.check_length(tail.len(), limits)?;
        if bytes.len() - self.lead > limits.header_size {
            return Err(self.too_large());
        }
        Ok(())
    }

    fn check_length(&self, length: usize, limits: &ConnectionLimits) -> Result<(), Problem> {
        if self.ends.is_empty() && length > limits.request_line {
            return Err(Problem::malformed(414, "the request line is too long"));
        }
        if !self.ends.is_empty() && length > limits.field_size {
            return Err(Problem::malformed(431, "a header field is too long"));
        }
        Ok(())
    }

    fn too_large(&self) -> Problem {
        match self.ends.len() {
            0 => Problem::malformed(414, "the request line is too long"),
            _ => Problem::malformed(431, "the header is too large"),
        }
    }
}

/// A request begins with a token or an empty line; anything else (TLS, binary) need not be waited for.
fn check_first_byte(bytes: &[u8]) -> Result<(), Problem> {
    match bytes.first() {
        Some(&byte) if byte != b'\r' && byte != b'\n' && !is_token_byte(byte) => {
            Err(bad("does not begin with a method"))
        }
        _ => Ok(()),
    }
}

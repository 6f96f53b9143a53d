//! Finds the end of a request head in bytes that arrive piece by piece. Each byte is examined only
//! once.
//!
//! The connection calls this module after every read, before the tokenizer. The tokenizer then runs
//! only once per head. A head beyond a limit or with a bare LF is noticed at once.

use crate::problem::{bad, Problem};
use crate::token::is_token_byte;
use mehari_config::ConnectionLimits;

/// The state of the search. All positions count from the request's first byte.
#[derive(Debug, Default, Clone, Copy)]
pub struct Scan {
    seen: usize,
    line_start: usize,
    lines: usize,
    /// The bytes of empty lines before the request line (RFC 9112 section 2.2). One empty line is
    /// accepted.
    lead: usize,
}

/// A complete head. The first `lead` bytes are skipped. The request line and `fields` field lines
/// follow, up to `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub lead: usize,
    pub end: usize,
    pub fields: usize,
}

impl Scan {
    /// Examines the new bytes. Returns `None` if the head is not complete yet.
    ///
    /// # Errors
    ///
    /// A [`Problem`] for a line end that is not CR LF, or for a head beyond a limit.
    pub fn advance(
        &mut self,
        bytes: &[u8],
        limits: &ConnectionLimits,
    ) -> Result<Option<Extent>, Problem> {
        if self.seen == 0 {
            check_first_byte(bytes)?;
        }
        let seen = self.seen;
        for found in memchr::memchr_iter(b'\n', &bytes[seen..]) {
            let at = seen + found;
            if at == 0 || bytes[at - 1] != b'\r' {
                return Err(bad("a line ends with LF alone"));
            }
            let length = at - 1 - self.line_start;
            self.seen = at + 1;
            self.line_start = at + 1;
            if let Some(extent) = self.line(length, limits)? {
                return Ok(Some(extent));
            }
        }
        self.check_unfinished(bytes, limits)?;
        self.seen = bytes.len();
        Ok(None)
    }

    /// Returns whether no byte of a request has arrived.
    #[inline]
    pub fn is_untouched(&self) -> bool {
        self.seen == 0
    }

    /// Counts a finished line of `length` bytes.
    #[inline]
    fn line(
        &mut self,
        length: usize,
        limits: &ConnectionLimits,
    ) -> Result<Option<Extent>, Problem> {
        if self.lines == 0 && length == 0 {
            if self.lead > 0 {
                return Err(bad("empty lines instead of a request line"));
            }
            self.lead = self.line_start;
            return Ok(None);
        }
        self.check_length(length, limits)?;
        if self.line_start - self.lead > limits.header_size {
            return Err(self.too_large());
        }
        if length == 0 {
            return Ok(Some(Extent {
                lead: self.lead,
                end: self.line_start,
                fields: self.lines - 1,
            }));
        }
        self.lines += 1;
        if self.lines - 1 > limits.fields {
            return Err(Problem::malformed(431, "too many header fields"));
        }
        Ok(None)
    }

    /// Checks the length of the unfinished line, and refuses a CR without LF in it.
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
        if self.lines == 0 && length > limits.request_line {
            return Err(Problem::malformed(414, "the request line is too long"));
        }
        if self.lines > 0 && length > limits.field_size {
            return Err(Problem::malformed(431, "a header field is too long"));
        }
        Ok(())
    }

    fn too_large(&self) -> Problem {
        match self.lines {
            0 => Problem::malformed(414, "the request line is too long"),
            _ => Problem::malformed(431, "the header is too large"),
        }
    }
}

/// Refuses a request that does not begin with a token or an empty line (TLS, binary data).
fn check_first_byte(bytes: &[u8]) -> Result<(), Problem> {
    match bytes.first() {
        Some(&byte) if byte != b'\r' && byte != b'\n' && !is_token_byte(byte) => {
            Err(bad("does not begin with a method"))
        }
        _ => Ok(()),
    }
}

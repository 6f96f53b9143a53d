//! Reads HTTP/1 responses from the pieces that the socket delivers (RFC 9112 sections 4, 6 and 7).
//!
//! The reader is strict about framing and ignores all other fields. It stores bytes only while a
//! head is incomplete. Content is counted and passed to a `Listener`. Invalid framing is a `Fault`;
//! the reader never guesses.

mod chunked;
mod head;

use chunked::Chunks;
pub use head::Head;

/// The largest head in bytes. A larger head is a fault.
pub const LARGEST_HEAD: usize = 64 * 1024;

/// Receives the parts of a response as they arrive.
pub trait Listener {
    fn head(&mut self, head: &Head, bytes: &[u8]);
    fn body(&mut self, piece: &[u8]);
}

/// The part in which the bytes are not an HTTP/1 response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    StatusLine,
    Field,
    Length,
    Chunk,
    HeadTooLarge,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Fault::StatusLine => "the status line is not HTTP/1's",
            Fault::Field => "a header line has no name and colon",
            Fault::Length => "Content-Length is not one number",
            Fault::Chunk => "the chunked coding is broken",
            Fault::HeadTooLarge => "the head does not end within 64 KiB",
        })
    }
}

/// The properties of a response so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub status: u16,
    pub head_bytes: u64,
    pub body_bytes: u64,
    pub framing_bytes: u64,
    /// Whether the server allows the connection to be used again.
    pub persistent: bool,
}

#[derive(Debug)]
enum ReadState {
    Head,
    Counted(u64),
    Chunked(Chunks),
    UntilClose,
}

/// Reads the responses of one connection. `begin` prepares the reader for each response.
#[derive(Debug)]
pub struct Reader {
    state: ReadState,
    bodiless: bool,
    /// The bytes of an incomplete head.
    carry: Vec<u8>,
    facts: Facts,
}

/// The progress of `feed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub consumed: usize,
    pub complete: bool,
}

impl Reader {
    pub fn new() -> Reader {
        Reader {
            state: ReadState::Head,
            bodiless: false,
            carry: Vec::new(),
            facts: Facts::default(),
        }
    }

    /// Prepares the reader for the response to one request. `bodiless` says that the response has
    /// no body, as after HEAD.
    pub fn begin(&mut self, bodiless: bool) {
        self.state = ReadState::Head;
        self.bodiless = bodiless;
        self.carry.clear();
        self.facts = Facts::default();
    }

    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Reads `input` until the response is complete or `input` ends.
    ///
    /// # Errors
    /// [`Fault`] if the response's framing is invalid.
    pub fn feed(&mut self, input: &[u8], listener: &mut impl Listener) -> Result<Progress, Fault> {
        let mut consumed = 0;
        if let ReadState::Head = self.state {
            match self.take_head(input, listener)? {
                None => {
                    return Ok(Progress {
                        consumed: input.len(),
                        complete: false,
                    })
                }
                Some((length, complete)) if complete => {
                    return Ok(Progress {
                        consumed: length,
                        complete,
                    })
                }
                Some((length, _)) => consumed = length,
            }
        }
        let rest = &input[consumed..];
        match &mut self.state {
            ReadState::Head => Ok(Progress {
                consumed,
                complete: false,
            }),
            ReadState::Counted(left) => {
                let take = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                *left -= take as u64;
                let complete = *left == 0;
                self.facts.body_bytes += take as u64;
                listener.body(&rest[..take]);
                Ok(Progress {
                    consumed: consumed + take,
                    complete,
                })
            }
            ReadState::Chunked(chunks) => {
                let progress = chunks.feed(rest, &mut self.facts, listener)?;
                Ok(Progress {
                    consumed: consumed + progress.consumed,
                    ..progress
                })
            }
            ReadState::UntilClose => {
                self.facts.body_bytes += rest.len() as u64;
                listener.body(rest);
                Ok(Progress {
                    consumed: input.len(),
                    complete: false,
                })
            }
        }
    }

    /// Handles the end of the connection. Returns whether the end completes the response.
    pub fn end(&mut self) -> bool {
        matches!(self.state, ReadState::UntilClose)
    }

    /// Returns whether any byte of the response has arrived.
    pub fn has_begun(&self) -> bool {
        !self.carry.is_empty() || self.facts.head_bytes > 0
    }

    /// Reads the head. Returns its bytes in `input` and whether the response is complete.
    fn take_head(
        &mut self,
        input: &[u8],
        listener: &mut impl Listener,
    ) -> Result<Option<(usize, bool)>, Fault> {
        let mut carry = std::mem::take(&mut self.carry);
        let before = carry.len();
        if before > 0 {
            carry.extend_from_slice(input);
        }
        let seen: &[u8] = if before > 0 { &carry } else { input };
        let mut skipped = 0;
        loop {
            let Some(head) = head::read(&seen[skipped..])? else {
                if seen.len() - skipped > LARGEST_HEAD {
                    return Err(Fault::HeadTooLarge);
                }
                self.carry = seen[skipped..].to_vec();
                return Ok(None);
            };
            let bytes = &seen[skipped..skipped + head.length];
            skipped += head.length;
            self.facts.head_bytes += head.length as u64;
            if head.is_interim() {
                continue;
            }
            self.facts.status = head.status;
            self.facts.persistent = head.persistent();
            listener.head(&head, bytes);
            let complete = self.enter_body(&head);
            carry.clear();
            self.carry = carry;
            return Ok(Some((skipped - before, complete)));
        }
    }

    /// Chooses the framing of the body (RFC 9112 section 6.3). Returns true if the response has no
    /// body.
    fn enter_body(&mut self, head: &Head) -> bool {
        if self.bodiless || matches!(head.status, 204 | 304) {
            return true;
        }
        self.state = match (head.chunked, head.content_length) {
            (true, _) => ReadState::Chunked(Chunks::default()),
            (false, Some(0)) => return true,
            (false, Some(length)) => ReadState::Counted(length),
            (false, None) => {
                self.facts.persistent = false;
                ReadState::UntilClose
            }
        };
        false
    }
}

impl Default for Reader {
    fn default() -> Reader {
        Reader::new()
    }
}

#[cfg(test)]
mod tests;

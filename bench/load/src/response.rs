//! Reads HTTP/1 responses from whatever pieces the socket gives: strict about framing, blind to the rest.
//!
//! RFC 9112 sections 4, 6 and 7. Nothing is stored but an incomplete head; content is only counted
//! and shown to a `Listener`. What breaks the framing is a `Fault`, never a guess.

mod chunked;
mod head;

use chunked::Chunks;
pub use head::Head;

/// A head larger than this is not a response but an accident.
pub const LARGEST_HEAD: usize = 64 * 1024;

/// Sees the parts of a response as they pass.
pub trait Listener {
    fn head(&mut self, head: &Head, bytes: &[u8]);
    fn body(&mut self, piece: &[u8]);
}

/// Why the bytes are not an HTTP/1 response.
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

/// What a response was, once complete (or how far it came).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub status: u16,
    pub head_bytes: u64,
    pub body_bytes: u64,
    pub framing_bytes: u64,
    /// The server lets the connection be used again.
    pub persistent: bool,
}

#[derive(Debug)]
enum State {
    Head,
    Counted(u64),
    Chunked(Chunks),
    UntilClose,
}

/// One connection's reader; `begin` readies it for each response.
#[derive(Debug)]
pub struct Reader {
    state: State,
    bodiless: bool,
    /// The head so far, when it did not come in one piece.
    carry: Vec<u8>,
    facts: Facts,
}

/// How far `feed` came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub consumed: usize,
    pub complete: bool,
}

impl Reader {
    pub fn new() -> Reader {
        Reader {
            state: State::Head,
            bodiless: false,
            carry: Vec::new(),
            facts: Facts::default(),
        }
    }

    /// Readies for the response to one request; `bodiless` for HEAD.
    pub fn begin(&mut self, bodiless: bool) {
        self.state = State::Head;
        self.bodiless = bodiless;
        self.carry.clear();
        self.facts = Facts::default();
    }

    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Takes bytes until the response is complete or they are used up.
    pub fn feed(&mut self, input: &[u8], listener: &mut impl Listener) -> Result<Progress, Fault> {
        let mut consumed = 0;
        if let State::Head = self.state {
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
            State::Head => Ok(Progress {
                consumed,
                complete: false,
            }),
            State::Counted(left) => {
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
            State::Chunked(chunks) => {
                let progress = chunks.feed(rest, &mut self.facts, listener)?;
                Ok(Progress {
                    consumed: consumed + progress.consumed,
                    ..progress
                })
            }
            State::UntilClose => {
                self.facts.body_bytes += rest.len() as u64;
                listener.body(rest);
                Ok(Progress {
                    consumed: input.len(),
                    complete: false,
                })
            }
        }
    }

    /// The connection ended: whether that completes the response under way.
    pub fn end(&mut self) -> bool {
        matches!(self.state, State::UntilClose)
    }

    /// Whether any byte of the response has come.
    pub fn has_begun(&self) -> bool {
        !self.carry.is_empty() || self.facts.head_bytes > 0
    }

    /// Answers how much of `input` the head took and whether the response is complete with it.
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

    /// RFC 9112 section 6.3: what follows the head. Answers whether nothing does.
    fn enter_body(&mut self, head: &Head) -> bool {
        if self.bodiless || matches!(head.status, 204 | 304) {
            return true;
        }
        self.state = match (head.chunked, head.content_length) {
            (true, _) => State::Chunked(Chunks::default()),
            (false, Some(0)) => return true,
            (false, Some(length)) => State::Counted(length),
            (false, None) => {
                self.facts.persistent = false;
                State::UntilClose
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

//! Reads the response of a FastCGI program: records of its output and its errors in any order.

use crate::handlers::proxy::{RequestSummary, Step};
use crate::handlers::BackendHead;
use mehari_config::LogLevel;
use mehari_fastcgi as record;
use mehari_fastcgi::{Header, HEADER};
use mehari_http::status::has_no_body;
use mehari_net::buffer_pool::Buffer;
use mehari_pool::script_head::{self, Form};
use mehari_upstream::{Fault, Input};

/// The most bytes of a program's errors that are logged per request.
const MOST_ERRORS: usize = 64 * 1024;
/// The length in bytes of END_REQUEST's content.
const END: usize = 8;
/// The protocol statuses that END_REQUEST may contain.
const COMPLETE: u8 = 0;
const CANNOT_MULTIPLEX: u8 = 1;
const OVERLOADED: u8 = 2;

#[derive(Default)]
pub struct Reply {
    /// The current record: its type, and the remaining bytes of content and padding.
    kind: u8,
    content: usize,
    padding: usize,
    /// The bytes of the head that have arrived. `searched`: how many of them were searched for the
    /// head's end.
    head: Buffer,
    searched: usize,
    /// The start of the body in `head`, if some of the body came with the head.
    early: Option<usize>,
    /// The bytes of the announced body that have not arrived. Zero for a response without a body.
    promised: u64,
    errors: Vec<u8>,
    logged: usize,
    /// The number of bytes of errors beyond the limit. These bytes are not logged.
    unlogged: u64,
    /// The content of END_REQUEST. Its first `end_known` bytes have arrived.
    end: [u8; END],
    end_known: usize,
    ended: bool,
    touched: bool,
}

impl Reply {
    pub fn is_untouched(&self) -> bool {
        !self.touched
    }

    pub fn head_length(&self) -> usize {
        self.head.len()
    }

    pub fn head(
        &mut self,
        input: &mut Input,
        asked: &RequestSummary,
    ) -> Result<Option<BackendHead>, Fault> {
        let mut output = std::mem::take(&mut self.head);
        if output.capacity() == 0 {
            output = Buffer::with_room();
        }
        let moved = self.advance(input, asked, &mut output, usize::MAX);
        self.head = output;
        moved?;
        if let Some(end) = script_head::end(&self.head, self.searched) {
            return self.read_head(end, asked).map(Some);
        }
        self.searched = self.head.len();
        match () {
            _ if self.head.len() > script_head::LONGEST => {
                Err(Fault::Malformed("its head is too long"))
            }
            _ if self.ended => Err(Fault::Malformed("it ended without a head")),
            _ => Ok(None),
        }
    }

    fn read_head(&mut self, end: usize, asked: &RequestSummary) -> Result<BackendHead, Fault> {
        let parsed = script_head::parse(&self.head[..end], Form::Parsed).map_err(|why| {
            asked.log(
                LogLevel::Error,
                &format!("the FastCGI program's head: {why}"),
            );
            Fault::Malformed("its head is no CGI header")
        })?;
        self.early = Some(end);
        let said = BackendHead::from(parsed);
        if let BackendHead::Response(head) = &said {
            let bodiless = asked.is_head || has_no_body(head.status);
            self.promised = head.content_length.filter(|_| !bodiless).unwrap_or(0);
        }
        Ok(said)
    }

    pub fn body(
        &mut self,
        input: &mut Input,
        asked: &RequestSummary,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Result<Step, Fault> {
        let before = into.len();
        if let Some(early) = self.early.take() {
            into.extend_from_slice(&self.head[early..]);
            self.head = Buffer::default();
        }
        let full = into.len().saturating_add(room);
        self.advance(input, asked, into, room)?;
        self.promised = self.promised.saturating_sub((into.len() - before) as u64);
        if self.ended && self.promised > 0 {
            return Err(Fault::CutOff);
        }
        // Bytes after the end of the response make the connection unusable. Otherwise the rest of
        // the input is the start of an incomplete record.
        Ok(if self.ended {
            Step::Done(input.bytes().is_empty())
        } else if into.len() >= full {
            Step::Full
        } else {
            Step::More
        })
    }

    /// Moves the program's output to `output`. Stops when `output` has `room` bytes, when the
    /// response ends, or when the input ends.
    fn advance(
        &mut self,
        input: &mut Input,
        asked: &RequestSummary,
        output: &mut Vec<u8>,
        room: usize,
    ) -> Result<(), Fault> {
        let full = output.len().saturating_add(room);
        while !self.ended && output.len() < full {
            if self.content > 0 {
                let bytes = input.bytes();
                let count = self.content.min(bytes.len()).min(match self.kind {
                    record::STDOUT => full - output.len(),
                    _ => usize::MAX,
                });
                if count == 0 {
                    return Ok(());
                }
                let part = &bytes[..count];
                match self.kind {
                    record::STDOUT => output.extend_from_slice(part),
                    record::STDERR => self.errors.extend_from_slice(part),
                    record::END_REQUEST => {
                        let known = self.end_known;
                        self.end[known..known + count].copy_from_slice(part);
                        self.end_known += count;
                    }
                    _ => {}
                }
                self.content -= count;
                input.consume(count);
                if self.kind == record::STDERR {
                    self.log_lines(asked, false);
                }
            } else if self.padding > 0 {
                let count = self.padding.min(input.bytes().len());
                if count == 0 {
                    return Ok(());
                }
                self.padding -= count;
                input.consume(count);
            } else if self.kind == record::END_REQUEST {
                self.finish(asked)?;
            } else {
                let Some(bytes) = input.bytes().first_chunk::<HEADER>() else {
                    return Ok(());
                };
                let header = record::header(*bytes);
                let header = header.filter(Header::is_answer);
                let header =
                    header.ok_or(Fault::Malformed("a record that is no part of an answer"))?;
                input.consume(HEADER);
                self.touched = true;
                (self.kind, self.content, self.padding) =
                    (header.kind, header.length, header.padding);
                if self.kind == record::END_REQUEST && self.content != END {
                    return Err(Fault::Malformed("an END_REQUEST of another length"));
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, asked: &RequestSummary) -> Result<(), Fault> {
        self.log_lines(asked, true);
        self.ended = true;
        let [a, b, c, d, protocol, ..] = self.end;
        let status = u32::from_be_bytes([a, b, c, d]);
        match protocol {
            COMPLETE => {}
            CANNOT_MULTIPLEX | OVERLOADED => return Err(Fault::Overloaded),
            _ => return Err(Fault::Malformed("it does not support the role Responder")),
        }
        if status != 0 {
            let text = format!("the FastCGI program ended with status {}", status as i32);
            asked.log(LogLevel::Warn, &text);
        }
        Ok(())
    }

    /// Logs the complete lines of the program's errors. `last`: logs an incomplete line too.
    fn log_lines(&mut self, asked: &RequestSummary, last: bool) {
        let whole = if last {
            self.errors.len()
        } else {
            memchr::memrchr(b'\n', &self.errors).map_or(0, |at| at + 1)
        };
        let whole = if self.errors.len() > MOST_ERRORS {
            self.errors.len()
        } else {
            whole
        };
        for line in self.errors[..whole].split(|&byte| byte == b'\n') {
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            if self.logged >= MOST_ERRORS {
                if self.unlogged == 0 {
                    let text = "the FastCGI program writes more errors, which are not logged";
                    asked.log(LogLevel::Error, text);
                }
                self.unlogged += line.len() as u64;
                continue;
            }
            self.logged += line.len();
            asked.log(LogLevel::Error, &String::from_utf8_lossy(line));
        }
        if last && self.unlogged > 0 {
            let text = format!(
                "{} bytes of the FastCGI program's errors were not logged",
                self.unlogged
            );
            asked.log(LogLevel::Error, &text);
        }
        self.errors.drain(..whole);
    }
}

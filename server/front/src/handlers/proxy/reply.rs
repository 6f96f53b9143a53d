//! Reads the response of an HTTP/1.1 back end as strictly as a client's request: an ambiguous
//! response is refused.

mod head;

use super::reader::Step;
use super::request_summary::RequestSummary;
use super::via;
use crate::handlers::BackendHead;
use head::Parsed;
use mehari_config::BackEnd;
use mehari_http::http1::chunked::Decoder;
use mehari_http::status;
use mehari_pool::{script_head, Head};
use mehari_upstream::{Fault, Input};
use std::collections::VecDeque;

/// The most interim heads that may precede a response.
const INTERIM: usize = 16;
/// The limits of a trailer section in bytes and lines. The section itself is dropped.
const TRAILER: usize = 16 * 1024;
const TRAILER_LINES: usize = 100;

#[derive(Debug)]
enum Body {
    /// The head has not arrived, so the framing is unknown.
    Unknown,
    Length(u64),
    Chunked(Decoder),
    /// The body ends when the connection ends.
    Open,
}

#[derive(Debug)]
pub struct Http {
    is_head: bool,
    upgrades: bool,
    /// How many bytes of the head were searched for its end.
    searched: usize,
    interim: usize,
    body: Body,
    /// Whether the back end keeps the connection open.
    keeps: bool,
}

impl Http {
    pub fn new(asked: &RequestSummary) -> Http {
        Http {
            is_head: asked.is_head,
            upgrades: asked.upgrade,
            searched: 0,
            interim: 0,
            body: Body::Unknown,
            keeps: false,
        }
    }

    pub fn reset(&mut self) {
        (self.searched, self.interim) = (0, 0);
        (self.body, self.keeps) = (Body::Unknown, false);
    }

    pub fn is_untouched(&self) -> bool {
        self.searched == 0 && self.interim == 0 && matches!(self.body, Body::Unknown)
    }

    pub fn head(
        &mut self,
        input: &mut Input,
        asked: &RequestSummary,
        member: &BackEnd,
        interim: &mut VecDeque<Head>,
    ) -> Result<Option<BackendHead>, Fault> {
        loop {
            let bytes = input.bytes();
            // A head that arrives in one piece is parsed at once. For further pieces the end of the
            // head is searched first, so the head is not parsed again for each piece.
            let whole = self.searched == 0 || script_head::end(bytes, self.searched).is_some();
            let parsed = if whole && bytes.first() == Some(&b'H') {
                head::parse(bytes, &asked.settings.proxy, member)?
            } else {
                None
            };
            let Some((mut parsed, end)) = parsed else {
                return self.unfinished(bytes).map(|()| None);
            };
            input.consume(end);
            self.searched = 0;
            via::push_response(asked.via.as_deref(), &mut parsed.head.lines);
            if parsed.head.status >= 200 {
                return self.begin(parsed).map(Some);
            }
            if parsed.head.status == 101 {
                if !self.upgrades {
                    return Err(Fault::Malformed("an unrequested change of protocol"));
                }
                return Ok(Some(BackendHead::Upgrade(parsed.head)));
            }
            self.interim += 1;
            if self.interim > INTERIM {
                return Err(Fault::Malformed("too many interim responses"));
            }
            interim.push_back(parsed.head);
        }
    }

    /// Returns an error if the head cannot become valid when more data arrive.
    fn unfinished(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if script_head::end(bytes, self.searched).is_some() {
            return Err(Fault::Malformed("its head is not HTTP"));
        }
        self.searched = bytes.len();
        if bytes.len() > script_head::LONGEST {
            Err(head::TOO_LONG)
        } else {
            Ok(())
        }
    }

    /// Chooses the framing of the body (RFC 9112 section 6.3).
    fn begin(&mut self, parsed: Parsed) -> Result<BackendHead, Fault> {
        let bodiless = self.is_head || status::has_no_body(parsed.head.status);
        self.keeps = parsed.keeps;
        self.body = match (parsed.chunked, parsed.head.content_length) {
            (true, Some(_)) => {
                return Err(Fault::Malformed(
                    "both Transfer-Encoding and Content-Length",
                ))
            }
            _ if bodiless => Body::Length(0),
            (true, None) => Body::Chunked(Decoder::new(TRAILER, TRAILER_LINES)),
            (false, Some(length)) => Body::Length(length),
            (false, None) => Body::Open,
        };
        Ok(BackendHead::Response(parsed.head))
    }

    pub fn body(
        &mut self,
        input: &mut Input,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Result<Step, Fault> {
        let bytes = input.bytes();
        let most = bytes.len().min(room);
        match &mut self.body {
            Body::Unknown => Err(Fault::Malformed("no head")),
            Body::Length(left) => {
                let count = most.min(usize::try_from(*left).unwrap_or(usize::MAX));
                into.extend_from_slice(&bytes[..count]);
                *left -= count as u64;
                let done = *left == 0;
                input.consume(count);
                if done {
                    Ok(self.done(input))
                } else {
                    Ok(full_or_more(input))
                }
            }
            Body::Chunked(decoder) => {
                let taken = decoder.decode(&bytes[..most], into);
                let taken = taken.map_err(|problem| Fault::Malformed(problem.reason))?;
                let done = decoder.is_done();
                input.consume(taken);
                if done {
                    Ok(self.done(input))
                } else {
                    Ok(full_or_more(input))
                }
            }
            Body::Open => {
                into.extend_from_slice(&bytes[..most]);
                input.consume(most);
                Ok(full_or_more(input))
            }
        }
    }

    /// Ends the body. A connection with data after the response is not used again.
    fn done(&self, input: &Input) -> Step {
        Step::Done(self.keeps && input.bytes().is_empty())
    }

    pub fn direct(&self) -> Option<usize> {
        match &self.body {
            Body::Length(left) => Some(usize::try_from(*left).unwrap_or(usize::MAX)),
            Body::Open => Some(usize::MAX),
            _ => None,
        }
    }

    pub fn read_directly(&mut self, count: usize) -> Step {
        match &mut self.body {
            Body::Length(left) => {
                *left -= count as u64;
                match *left {
                    0 => Step::Done(self.keeps),
                    _ => Step::More,
                }
            }
            _ => Step::More,
        }
    }

    pub fn ended(&self) -> Result<(), Fault> {
        match &self.body {
            Body::Open => Ok(()),
            Body::Unknown => Err(Fault::Closed),
            _ => Err(Fault::CutOff),
        }
    }
}

fn full_or_more(input: &Input) -> Step {
    if input.bytes().is_empty() {
        Step::More
    } else {
        Step::Full
    }
}

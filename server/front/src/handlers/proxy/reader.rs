//! Reads a back end's response in any of the protocols.

use super::reply::Http;
use super::request_summary::RequestSummary;
use crate::handlers::fastcgi::Reply;
use crate::handlers::{gateway, BackendHead};
use mehari_config::BackEnd;
use mehari_pool::Head;
use mehari_upstream::{Fault, Input};
use std::collections::VecDeque;

pub enum Reader {
    Http(Http),
    FastCgi(Box<Reply>),
    /// The protocol is SCGI or uwsgi.
    Gateway(gateway::Reply),
}

/// What must happen next with a body.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// More data must arrive.
    More,
    /// The caller's buffer is full.
    Full,
    /// The body is complete. The value is true if the connection can be used again.
    Done(bool),
}

impl Reader {
    /// Returns the head, once the head is complete. Appends interim heads to `interim`.
    pub fn head(
        &mut self,
        input: &mut Input,
        asked: &RequestSummary,
        member: &BackEnd,
        interim: &mut VecDeque<Head>,
    ) -> Result<Option<BackendHead>, Fault> {
        match self {
            Reader::Http(http) => http.head(input, asked, member, interim),
            Reader::FastCgi(reply) => reply.head(input, asked),
            Reader::Gateway(reply) => reply.head(input, asked),
        }
    }

    /// Moves the arrived part of the body to `into`.
    pub fn body(
        &mut self,
        input: &mut Input,
        asked: &RequestSummary,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Result<Step, Fault> {
        match self {
            Reader::Http(http) => http.body(input, into, room),
            Reader::FastCgi(reply) => reply.body(input, asked, into, room),
            Reader::Gateway(reply) => reply.body(input, into, room),
        }
    }

    /// Returns how many bytes may be read from the socket straight into the caller's buffer.
    /// `None`: the data must be parsed.
    pub fn direct(&self) -> Option<usize> {
        match self {
            Reader::Http(http) => http.direct(),
            Reader::FastCgi(_) | Reader::Gateway(_) => None,
        }
    }

    /// Notes that `count` bytes were read straight into the caller's buffer.
    pub fn read_directly(&mut self, count: usize) -> Step {
        match self {
            Reader::Http(http) => http.read_directly(count),
            Reader::FastCgi(_) | Reader::Gateway(_) => Step::More,
        }
    }

    /// Notes that the back end has closed the connection. `Ok`: the response is complete.
    pub fn ended(&self) -> Result<(), Fault> {
        match self {
            Reader::Http(http) => http.ended(),
            Reader::FastCgi(_) => Err(Fault::CutOff),
            Reader::Gateway(reply) => reply.ended(),
        }
    }

    /// Returns how many bytes of the head have arrived, if the protocol sends other data between
    /// them. `None`: all data belong to the head.
    pub fn head_length(&self) -> Option<usize> {
        match self {
            Reader::FastCgi(reply) => Some(reply.head_length()),
            Reader::Http(_) | Reader::Gateway(_) => None,
        }
    }

    /// Returns whether nothing of a response has arrived.
    pub fn is_untouched(&self) -> bool {
        match self {
            Reader::Http(http) => http.is_untouched(),
            Reader::FastCgi(reply) => reply.is_untouched(),
            Reader::Gateway(reply) => reply.is_untouched(),
        }
    }

    /// Prepares to read the response of another member.
    pub fn reset(&mut self) {
        match self {
            Reader::Http(http) => http.reset(),
            Reader::FastCgi(reply) => **reply = Reply::default(),
            Reader::Gateway(reply) => *reply = gateway::Reply::default(),
        }
    }
}

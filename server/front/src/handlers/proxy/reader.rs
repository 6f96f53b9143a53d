//! What a back end says, whichever protocol it says it in.

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
    /// SCGI and uwsgi.
    Gateway(gateway::Reply),
}

/// How far a body has come.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// More has to arrive.
    More,
    /// The room is full.
    Full,
    /// That was all. True: the connection can serve another request.
    Done(bool),
}

impl Reader {
    /// The head, once it has arrived whole; interim heads are put aside.
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

    /// Moves what has arrived of the body to `into`.
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

    /// How much of the body may be read straight into its place; `None`: it has to be looked at.
    pub fn direct(&self) -> Option<usize> {
        match self {
            Reader::Http(http) => http.direct(),
            Reader::FastCgi(_) | Reader::Gateway(_) => None,
        }
    }

    /// So much has been read straight.
    pub fn read_directly(&mut self, count: usize) -> Step {
        match self {
            Reader::Http(http) => http.read_directly(count),
            Reader::FastCgi(_) | Reader::Gateway(_) => Step::More,
        }
    }

    /// The back end says no more. `Ok`: that was how it ends its answer.
    pub fn ended(&self) -> Result<(), Fault> {
        match self {
            Reader::Http(http) => http.ended(),
            Reader::FastCgi(_) => Err(Fault::CutOff),
            Reader::Gateway(reply) => reply.ended(),
        }
    }

    /// Bytes of the head that have come, where other things come between; `None`: all that comes is the head's.
    pub fn head_length(&self) -> Option<usize> {
        match self {
            Reader::FastCgi(reply) => Some(reply.head_length()),
            Reader::Http(_) | Reader::Gateway(_) => None,
        }
    }

    /// Nothing of an answer has come.
    pub fn is_untouched(&self) -> bool {
        match self {
            Reader::Http(http) => http.is_untouched(),
            Reader::FastCgi(reply) => reply.is_untouched(),
            Reader::Gateway(reply) => reply.is_untouched(),
        }
    }

    /// For the next try.
    pub fn reset(&mut self) {
        match self {
            Reader::Http(http) => http.reset(),
            Reader::FastCgi(reply) => **reply = Reply::default(),
            Reader::Gateway(reply) => *reply = gateway::Reply::default(),
        }
    }
}

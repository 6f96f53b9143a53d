//! Handlers: what answers a request once it is routed.

pub mod cgi;
pub mod fastcgi;
pub mod file;
pub mod lua;
pub mod perl;
pub mod proxy;
pub mod send_file;
mod upgrade;

use crate::dispatch::Exchange;
use crate::spool::Spooled;
use mehari_pool::script_head::ScriptHead;
use mehari_pool::{Head, Passed};
use std::task::{Context, Poll};
use std::time::Duration;

/// What a program or a back end says first.
pub enum Said {
    Response(Head),
    /// Another local target is to answer.
    Elsewhere(Vec<u8>),
    /// Perl leaves the answer to the server, and the body it was given.
    Passed(Box<Passed>, Option<Box<Spooled>>),
    /// The server's own page for this status.
    Page(u16),
    /// 101: the connection speaks something else from now on.
    Upgrade(Head),
}

impl From<ScriptHead> for Said {
    fn from(head: ScriptHead) -> Said {
        match head {
            ScriptHead::Response(head) => Said::Response(head),
            ScriptHead::LocalRedirect(target) => Said::Elsewhere(target),
            ScriptHead::Passed(passed) => Said::Passed(passed, None),
        }
    }
}

/// Why there is no answer, or not all of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error(transparent)]
    Program(#[from] mehari_pool::Fault),
    #[error(transparent)]
    BackEnd(#[from] mehari_upstream::Fault),
}

impl Fault {
    /// The status the client is told.
    pub fn status(self) -> u16 {
        match self {
            Fault::Program(fault) => fault.status(),
            Fault::BackEnd(fault) => fault.status(),
        }
    }
}

/// A program at work on a request.
pub enum Backend<P> {
    /// With the body, where somebody else may have to answer after all.
    Perl(P, Option<Box<Spooled>>),
    Cgi(Box<cgi::Exchange>),
    Proxy(Box<proxy::Exchange>),
}

impl<P: Exchange> Backend<P> {
    pub fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<Said, Fault>> {
        match self {
            Backend::Perl(exchange, body) => match said(exchange.poll_head(cx)) {
                Poll::Ready(Ok(Said::Passed(passed, _))) => {
                    Poll::Ready(Ok(Said::Passed(passed, body.take())))
                }
                said => said,
            },
            Backend::Cgi(exchange) => said(exchange.poll_head(cx)),
            Backend::Proxy(exchange) => exchange.poll_head(cx),
        }
    }

    /// The next 1xx head, if one has come; ask after each `Pending` of `poll_head`.
    pub fn take_interim(&mut self) -> Option<Head> {
        match self {
            Backend::Perl(exchange, _) => exchange.take_interim(),
            Backend::Cgi(_) => None,
            Backend::Proxy(exchange) => exchange.take_interim(),
        }
    }

    pub fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Poll<Result<bool, Fault>> {
        match self {
            Backend::Perl(exchange, _) => exchange.poll_body(cx, into, room).map_err(Fault::from),
            Backend::Cgi(exchange) => exchange.poll_body(cx, into, room).map_err(Fault::from),
            Backend::Proxy(exchange) => exchange.poll_body(cx, into, room),
        }
    }

    pub fn is_complete(&self) -> bool {
        match self {
            Backend::Perl(exchange, _) => exchange.is_complete(),
            Backend::Cgi(exchange) => exchange.is_complete(),
            Backend::Proxy(exchange) => exchange.is_complete(),
        }
    }

    pub fn worker(&self) -> Option<u32> {
        match self {
            Backend::Perl(exchange, _) => exchange.worker(),
            Backend::Cgi(exchange) => exchange.worker(),
            Backend::Proxy(_) => None,
        }
    }

    /// Nobody has begun to work on it.
    pub fn waits(&self) -> bool {
        match self {
            Backend::Proxy(exchange) => !exchange.is_begun(),
            _ => self.worker().is_none(),
        }
    }

    pub fn queued(&self) -> Duration {
        match self {
            Backend::Perl(exchange, _) => exchange.queued(),
            Backend::Cgi(exchange) => exchange.queued(),
            Backend::Proxy(exchange) => exchange.queued(),
        }
    }
}

fn said(head: Poll<Result<ScriptHead, mehari_pool::Fault>>) -> Poll<Result<Said, Fault>> {
    head.map(|head| head.map(Said::from).map_err(Fault::from))
}

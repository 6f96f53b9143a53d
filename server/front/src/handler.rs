//! Handlers: what answers a request once it is routed.

pub mod cgi;
pub mod file;
pub mod perl;

use crate::dispatch::Exchange;
use mehari_pool::script_head::ScriptHead;
use mehari_pool::{Fault, Head};
use std::task::{Context, Poll};
use std::time::Duration;

/// A program at work on a request.
pub enum Backend<P> {
    Perl(P),
    Cgi(Box<cgi::Exchange>),
}

impl<P: Exchange> Backend<P> {
    pub fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<ScriptHead, Fault>> {
        match self {
            Backend::Perl(exchange) => exchange.poll_head(cx),
            Backend::Cgi(exchange) => exchange.poll_head(cx),
        }
    }

    /// The next 1xx head, if one has come; ask after each `Pending` of `poll_head`.
    pub fn take_interim(&mut self) -> Option<Head> {
        match self {
            Backend::Perl(exchange) => exchange.take_interim(),
            Backend::Cgi(_) => None,
        }
    }

    pub fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Poll<Result<bool, Fault>> {
        match self {
            Backend::Perl(exchange) => exchange.poll_body(cx, into, room),
            Backend::Cgi(exchange) => exchange.poll_body(cx, into, room),
        }
    }

    pub fn is_complete(&self) -> bool {
        match self {
            Backend::Perl(exchange) => exchange.is_complete(),
            Backend::Cgi(exchange) => exchange.is_complete(),
        }
    }

    pub fn worker(&self) -> Option<u32> {
        match self {
            Backend::Perl(exchange) => exchange.worker(),
            Backend::Cgi(exchange) => exchange.worker(),
        }
    }

    pub fn queued(&self) -> Duration {
        match self {
            Backend::Perl(exchange) => exchange.queued(),
            Backend::Cgi(exchange) => exchange.queued(),
        }
    }
}

//! Handlers: what answers a request once it is routed.

pub mod file;
pub mod perl;

use crate::dispatch::Exchange;
use mehari_pool::{Fault, Head};
use std::task::{Context, Poll};
use std::time::Duration;

/// A program at work on a request.
pub enum Backend<P> {
    Perl(P),
}

impl<P: Exchange> Backend<P> {
    pub fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<Head, Fault>> {
        match self {
            Backend::Perl(exchange) => exchange.poll_head(cx),
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
        }
    }

    pub fn is_complete(&self) -> bool {
        match self {
            Backend::Perl(exchange) => exchange.is_complete(),
        }
    }

    pub fn worker(&self) -> Option<u32> {
        match self {
            Backend::Perl(exchange) => exchange.worker(),
        }
    }

    pub fn queued(&self) -> Duration {
        match self {
            Backend::Perl(exchange) => exchange.queued(),
        }
    }
}

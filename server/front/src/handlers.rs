//! Handlers: what responds to a routed request.
//!
//! `pipeline::start` starts a handler. The handler returns an [`Answer`] at once, or a [`Backend`]
//! whose head and body the pipeline polls.

mod captured;
pub mod fastcgi;
pub mod file;
mod filtered;
pub mod gateway;
pub mod perl;
pub mod printed;
pub mod proxy;
pub mod report;
pub mod send_file;
pub mod ssi;
pub mod through;
mod upgrade;

pub use captured::Captured;
pub use filtered::Filtered;
pub(crate) use mehari_cgi as cgi;

use crate::content::spool::Spooled;
use crate::content::Answer;
use crate::shared::PerlExchange;
use mehari_pool::script_head::ScriptHead;
use mehari_pool::{Declined, Head, Named};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// The result of a handler's start.
pub enum HandlerOutcome {
    Answer(Answer),
    Backend(Backend),
    /// An internal redirect to this target, with this status.
    Elsewhere(Vec<u8>, u16),
}

/// The head from a program or a back end.
pub enum BackendHead {
    Response(Head),
    /// Another local target responds, and its response gets these header lines.
    Elsewhere(Vec<u8>, Vec<u8>),
    /// Perl leaves the response to the front and returns the body of the request.
    Declined(Box<Declined>, Option<Box<Spooled>>),
    /// The server's own page for this status.
    Page(u16),
    /// An answer of the front itself that was not ready at once.
    Answered(Box<Answer>),
    /// 101: the connection changes its protocol.
    Upgrade(Head),
}

impl From<ScriptHead> for BackendHead {
    fn from(head: ScriptHead) -> BackendHead {
        match head {
            ScriptHead::Response(head) => BackendHead::Response(head),
            ScriptHead::LocalRedirect { target, lines } => BackendHead::Elsewhere(target, lines),
            ScriptHead::Declined(declined) => BackendHead::Declined(declined, None),
        }
    }
}

/// Why there is no response, or not a complete one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error(transparent)]
    Program(#[from] mehari_pool::Fault),
    #[error(transparent)]
    BackEnd(#[from] mehari_upstream::Fault),
    #[error("the response could not be compressed")]
    Filter,
}

impl Fault {
    /// The status for the client.
    pub fn status(self) -> u16 {
        match self {
            Fault::Program(fault) => fault.status(),
            Fault::BackEnd(fault) => fault.status(),
            Fault::Filter => 500,
        }
    }
}

/// A program or back end at work on a request.
pub enum Backend {
    /// The request's body is kept if another handler may have to respond after all.
    Perl(PerlExchange, Option<Box<Spooled>>),
    Cgi(Box<cgi::CgiExchange>),
    Proxy(Box<proxy::ProxyExchange>),
    /// One of the other variants with a filter behind it.
    Filtered(Box<Filtered>),
    /// One of the other variants whose response is also stored in the cache.
    Captured(Box<Captured>),
    /// A response of the front that Perl's filters process.
    Through(Box<through::Through>),
    /// An answer of the front itself that is not ready yet.
    Deferred(Deferred),
    /// The back end has been moved into a filter.
    Gone,
}

/// A future answer, or the status of an error page.
pub type Deferred = Pin<Box<dyn Future<Output = Result<Answer, u16>>>>;

impl Backend {
    /// Adds a filter.
    pub fn wrap(&mut self, with: impl FnOnce(Backend) -> Filtered) {
        let inner = std::mem::replace(self, Backend::Gone);
        *self = Backend::Filtered(Box::new(with(inner)));
    }

    /// Adds the cache's capture.
    pub fn capture(&mut self, with: impl FnOnce(Backend) -> Captured) {
        let inner = std::mem::replace(self, Backend::Gone);
        *self = Backend::Captured(Box::new(with(inner)));
    }

    /// Length of a body that a filter holds completely.
    pub fn held_length(&self) -> Option<u64> {
        match self {
            Backend::Filtered(filtered) => filtered.held_length(),
            _ => None,
        }
    }

    pub fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<BackendHead, Fault>> {
        match self {
            Backend::Perl(exchange, body) => match backend_head(exchange.poll_head(cx)) {
                Poll::Ready(Ok(BackendHead::Declined(declined, _))) => {
                    let filtered = exchange.take_filtered_body();
                    let filtered =
                        filtered.map(|(file, length)| Box::new(Spooled::File(file.into(), length)));
                    let body = filtered.or_else(|| body.take());
                    Poll::Ready(Ok(BackendHead::Declined(declined, body)))
                }
                said => said,
            },
            Backend::Cgi(exchange) => backend_head(exchange.poll_head(cx)),
            Backend::Proxy(exchange) => exchange.poll_head(cx),
            Backend::Filtered(filtered) => filtered.inner_mut().poll_head(cx),
            Backend::Captured(captured) => captured.inner_mut().poll_head(cx),
            Backend::Through(through) => through.poll_head(cx),
            Backend::Deferred(later) => later.as_mut().poll(cx).map(|answer| {
                Ok(match answer {
                    Ok(answer) => BackendHead::Answered(Box::new(answer)),
                    Err(status) => BackendHead::Page(status),
                })
            }),
            Backend::Gone => Poll::Ready(Ok(BackendHead::Page(500))),
        }
    }

    /// The next 1xx head, if one has arrived. Call it after each `Pending` of `poll_head`.
    pub fn take_interim(&mut self) -> Option<Head> {
        match self {
            Backend::Perl(exchange, _) => exchange.take_interim(),
            Backend::Proxy(exchange) => exchange.take_interim(),
            Backend::Filtered(filtered) => filtered.inner_mut().take_interim(),
            Backend::Captured(captured) => captured.inner_mut().take_interim(),
            Backend::Through(through) => through.take_interim(),
            Backend::Cgi(_) | Backend::Deferred(_) | Backend::Gone => None,
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
            Backend::Filtered(filtered) => filtered.poll_body(cx, into, room),
            Backend::Captured(captured) => captured.poll_body(cx, into, room),
            Backend::Through(through) => through.poll_body(cx, into, room),
            Backend::Deferred(_) | Backend::Gone => Poll::Ready(Ok(false)),
        }
    }

    pub fn is_complete(&self) -> bool {
        match self {
            Backend::Perl(exchange, _) => exchange.is_complete(),
            Backend::Cgi(exchange) => exchange.is_complete(),
            Backend::Proxy(exchange) => exchange.is_complete(),
            Backend::Filtered(filtered) => filtered.is_complete(),
            Backend::Captured(captured) => captured.inner().is_complete(),
            Backend::Through(through) => through.is_complete(),
            Backend::Deferred(_) | Backend::Gone => true,
        }
    }

    pub fn worker(&self) -> Option<u32> {
        match self {
            Backend::Perl(exchange, _) => exchange.worker(),
            Backend::Cgi(exchange) => exchange.worker(),
            Backend::Filtered(filtered) => filtered.inner().worker(),
            Backend::Captured(captured) => captured.inner().worker(),
            Backend::Through(through) => through.exchange.worker(),
            Backend::Proxy(_) | Backend::Deferred(_) | Backend::Gone => None,
        }
    }

    /// Returns the user that Perl's handlers have set, but only once.
    pub fn take_user(&mut self) -> Option<Box<Named>> {
        match self {
            Backend::Perl(exchange, _) => exchange.take_user(),
            Backend::Filtered(filtered) => filtered.inner_mut().take_user(),
            Backend::Captured(captured) => captured.inner_mut().take_user(),
            Backend::Through(through) => through.exchange.take_user(),
            Backend::Cgi(_) | Backend::Proxy(_) | Backend::Deferred(_) | Backend::Gone => None,
        }
    }

    /// Whether no worker or back end has begun to work on the request.
    pub fn waits(&self) -> bool {
        match self {
            Backend::Proxy(exchange) => !exchange.is_begun(),
            Backend::Filtered(filtered) => filtered.inner().waits(),
            Backend::Captured(captured) => captured.inner().waits(),
            Backend::Deferred(_) => false,
            _ => self.worker().is_none(),
        }
    }

    pub fn queued(&self) -> Duration {
        match self {
            Backend::Perl(exchange, _) => exchange.queued(),
            Backend::Cgi(exchange) => exchange.queued(),
            Backend::Proxy(exchange) => exchange.queued(),
            Backend::Filtered(filtered) => filtered.inner().queued(),
            Backend::Captured(captured) => captured.inner().queued(),
            Backend::Through(through) => through.exchange.queued(),
            Backend::Deferred(_) | Backend::Gone => Duration::ZERO,
        }
    }
}

fn backend_head(
    head: Poll<Result<ScriptHead, mehari_pool::Fault>>,
) -> Poll<Result<BackendHead, Fault>> {
    head.map(|head| head.map(BackendHead::from).map_err(Fault::from))
}

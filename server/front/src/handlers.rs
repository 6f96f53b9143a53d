//! Handlers: the code that responds to routed requests.
//!
//! `pipeline::start` starts a handler. The handler returns an [`Answer`] at once, or a [`Backend`]
//! whose head and body the pipeline polls.

mod answered;
mod captured;
pub mod console;
pub mod fastcgi;
pub mod file;
mod filtered;
pub mod gateway;
pub mod perl;
pub mod printed;
mod protocol_switch;
pub mod proxy;
pub mod report;
pub mod send_file;
pub mod ssi;
pub mod through;

pub use answered::Answered;
pub use captured::Captured;
pub use filtered::{fault, Filtered};
pub(crate) use mehari_cgi as cgi;

use crate::content::spool::Spooled;
use crate::content::Answer;
use crate::shared::PerlExchange;
use mehari_pool::script_head::ScriptHead;
use mehari_pool::{Call, Declined, Head, LogReport, RequestNews};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// What a handler returns when it is started.
pub enum HandlerOutcome {
    Answer(Answer),
    Backend(Backend),
    /// An internal redirect to this target, with this status.
    Elsewhere(Vec<u8>, u16),
    /// The program of an `Action` responds to the same request.
    Acted(Box<ActingTarget>),
}

/// The target of an internal redirect that keeps the request's body.
pub struct ActingTarget {
    /// The percent-encoded path and the query.
    pub target: Vec<u8>,
    /// What an `Action` has redirected. `None`: Perl has redirected the request.
    pub action: Option<RedirectingAction>,
    pub body: Option<Spooled>,
}

/// An `Action` that leads a file to its program.
pub struct RedirectingAction {
    /// The path of the file, and the query: REDIRECT_URL and REDIRECT_QUERY_STRING.
    pub from: Vec<u8>,
    /// The value of REDIRECT_HANDLER.
    pub name: String,
}

/// What a program or a back end sends first: the head of its response, or an order to the front.
pub enum BackendHead {
    Response(Head),
    /// Another local target responds: the first field. The second field holds the header lines that
    /// are added to its response.
    Elsewhere(Vec<u8>, Vec<u8>),
    /// Perl leaves the response to the front. The second field is the request's body, if any.
    Declined(Box<Declined>, Option<Box<Spooled>>),
    /// Perl waits for rules (a constant of `mehari_pool::left`): [`Backend::answer_rules`].
    Rules(u16),
    /// The server's own page for this status must be sent.
    Page(u16),
    /// An answer of the front itself that was not ready at once.
    Answered(Box<Answer>),
    /// The status is 101: the connection changes its protocol.
    Upgrade(Head),
}

impl From<ScriptHead> for BackendHead {
    fn from(head: ScriptHead) -> BackendHead {
        match head {
            ScriptHead::Response(head) => BackendHead::Response(head),
            ScriptHead::LocalRedirect { target, lines } => BackendHead::Elsewhere(target, lines),
            ScriptHead::Declined(declined) => BackendHead::Declined(declined, None),
            ScriptHead::Rules(left) => BackendHead::Rules(left),
        }
    }
}

/// Why a response is missing or incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error(transparent)]
    Program(#[from] mehari_pool::Fault),
    #[error(transparent)]
    BackEnd(#[from] mehari_upstream::Fault),
    /// A FastCGI program that the server itself has started.
    #[error(transparent)]
    Started(mehari_upstream::Fault),
    #[error("the response could not be compressed")]
    Filter,
    #[error("a line of the response is longer than SubstituteMaxLineLength, or Substitute has found an empty text")]
    LongLine,
    #[error("the page with server-side includes has failed")]
    Includes,
    #[error("the file could not be read")]
    File,
}

impl Fault {
    /// Returns the status for the client.
    pub fn status(self) -> u16 {
        match self {
            Fault::Program(fault) => fault.status(),
            Fault::BackEnd(fault) => fault.status(),
            // As under mod_fcgid, the program is part of the server.
            Fault::Started(fault) => match fault.status() {
                502 | 504 => 500,
                status => status,
            },
            Fault::Filter | Fault::LongLine | Fault::Includes | Fault::File => 500,
        }
    }
}

/// A program or back end that works on a request.
pub enum Backend {
    /// The second field keeps the request's body if another handler may have to respond after Perl.
    Perl(PerlExchange, Option<Box<Spooled>>),
    Cgi(Box<cgi::CgiExchange>),
    Proxy(Box<proxy::ProxyExchange>),
    /// A back end of another variant whose response passes through a filter.
    Filtered(Box<Filtered>),
    /// A back end of another variant whose response is also stored in the cache.
    Captured(Box<Captured>),
    /// A response of the front that passes through Perl's filters.
    Through(Box<through::Through>),
    /// An answer of the front itself that is not ready yet.
    Deferred(Deferred),
    /// An answer of the front itself whose body passes through filters.
    Answered(Box<Answered>),
    /// `wrap` or `capture` has moved the back end and will replace this value at once.
    Gone,
}

/// A future that returns an answer, or the status of an error page.
pub type Deferred = Pin<Box<dyn Future<Output = Result<Answer, u16>>>>;

impl Backend {
    /// Moves the back end into a filter.
    pub fn wrap(&mut self, with: impl FnOnce(Backend) -> Filtered) {
        let inner = std::mem::replace(self, Backend::Gone);
        *self = Backend::Filtered(Box::new(with(inner)));
    }

    /// Moves the back end into a [`Captured`], which stores the response in the cache.
    pub fn capture(&mut self, with: impl FnOnce(Backend) -> Captured) {
        let inner = std::mem::replace(self, Backend::Gone);
        *self = Backend::Captured(Box::new(with(inner)));
    }

    /// Returns an answer as a back end.
    pub fn answered(answer: Answer) -> Backend {
        Backend::Answered(Box::new(Answered::new(answer)))
    }

    /// Returns the length of the body if a filter holds the complete body.
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
            Backend::Answered(answered) => answered.poll_head(),
            Backend::Gone => Poll::Ready(Ok(BackendHead::Page(500))),
        }
    }

    /// Returns the next 1xx head, if one has arrived. Call this function after each `Pending` of
    /// `poll_head`.
    pub fn take_interim(&mut self) -> Option<Head> {
        match self {
            Backend::Perl(exchange, _) => exchange.take_interim(),
            Backend::Proxy(exchange) => exchange.take_interim(),
            Backend::Filtered(filtered) => filtered.inner_mut().take_interim(),
            Backend::Captured(captured) => captured.inner_mut().take_interim(),
            Backend::Through(through) => through.take_interim(),
            Backend::Cgi(_) | Backend::Deferred(_) | Backend::Answered(_) | Backend::Gone => None,
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
            Backend::Answered(answered) => answered.poll_body(cx, into, room),
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
            Backend::Answered(answered) => answered.is_complete(),
            Backend::Deferred(_) | Backend::Gone => true,
        }
    }

    /// Whether an HTTP back end responds.
    pub fn speaks_http(&self) -> bool {
        match self {
            Backend::Proxy(exchange) => exchange.speaks_http(),
            Backend::Filtered(filtered) => filtered.inner().speaks_http(),
            Backend::Captured(captured) => captured.inner().speaks_http(),
            _ => false,
        }
    }

    pub fn worker(&self) -> Option<u32> {
        match self {
            Backend::Perl(exchange, _) => exchange.worker(),
            Backend::Cgi(exchange) => exchange.worker(),
            Backend::Filtered(filtered) => filtered.inner().worker(),
            Backend::Captured(captured) => captured.inner().worker(),
            Backend::Through(through) => through.exchange.worker(),
            Backend::Proxy(_) | Backend::Deferred(_) | Backend::Answered(_) | Backend::Gone => None,
        }
    }

    /// Returns what a worker has told about the request, but only once.
    pub fn take_told(&mut self) -> Option<Box<RequestNews>> {
        match self {
            Backend::Perl(exchange, _) => exchange.take_told(),
            Backend::Filtered(filtered) => filtered.inner_mut().take_told(),
            Backend::Captured(captured) => captured.inner_mut().take_told(),
            Backend::Through(through) => through.exchange.take_told(),
            Backend::Cgi(_)
            | Backend::Proxy(_)
            | Backend::Deferred(_)
            | Backend::Answered(_)
            | Backend::Gone => None,
        }
    }

    /// Returns the variables that tell which member of a balancer responds, but only once.
    pub fn take_variables(&mut self) -> Vec<(&'static str, String)> {
        match self {
            Backend::Proxy(exchange) => exchange.take_variables(),
            Backend::Filtered(filtered) => filtered.inner_mut().take_variables(),
            Backend::Captured(captured) => captured.inner_mut().take_variables(),
            _ => Vec::new(),
        }
    }

    /// Returns what a worker says for the access line.
    pub fn log_report(&self) -> Option<LogReport> {
        match self {
            Backend::Perl(exchange, _) => exchange.log_report(),
            Backend::Filtered(filtered) => filtered.inner().log_report(),
            Backend::Captured(captured) => captured.inner().log_report(),
            Backend::Through(through) => through.exchange.log_report(),
            Backend::Cgi(_)
            | Backend::Proxy(_)
            | Backend::Deferred(_)
            | Backend::Answered(_)
            | Backend::Gone => None,
        }
    }

    /// Answers a worker that waits for rules. `None`: the rules change
    /// nothing.
    pub fn answer_rules(&self, call: Option<Call<'_>>) {
        match self {
            Backend::Perl(exchange, _) => exchange.answer_rules(call),
            Backend::Filtered(filtered) => filtered.inner().answer_rules(call),
            Backend::Captured(captured) => captured.inner().answer_rules(call),
            Backend::Through(through) => through.exchange.answer_rules(call),
            Backend::Cgi(_)
            | Backend::Proxy(_)
            | Backend::Deferred(_)
            | Backend::Answered(_)
            | Backend::Gone => {}
        }
    }

    /// Tells a worker that the client has left. Programs and back ends learn this when their pipe
    /// or connection is closed.
    pub fn note_departure(&self) {
        match self {
            Backend::Perl(exchange, _) => exchange.note_departure(),
            Backend::Filtered(filtered) => filtered.inner().note_departure(),
            Backend::Captured(captured) => captured.inner().note_departure(),
            Backend::Through(through) => through.exchange.note_departure(),
            Backend::Cgi(_)
            | Backend::Proxy(_)
            | Backend::Deferred(_)
            | Backend::Answered(_)
            | Backend::Gone => {}
        }
    }

    /// Returns whether the request still waits for a worker or back end.
    pub fn waits(&self) -> bool {
        match self {
            Backend::Proxy(exchange) => !exchange.is_begun(),
            Backend::Filtered(filtered) => filtered.inner().waits(),
            Backend::Captured(captured) => captured.inner().waits(),
            Backend::Deferred(_) | Backend::Answered(_) => false,
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
            Backend::Deferred(_) | Backend::Answered(_) | Backend::Gone => Duration::ZERO,
        }
    }
}

fn backend_head(
    head: Poll<Result<ScriptHead, mehari_pool::Fault>>,
) -> Poll<Result<BackendHead, Fault>> {
    head.map(|head| head.map(BackendHead::from).map_err(Fault::from))
}

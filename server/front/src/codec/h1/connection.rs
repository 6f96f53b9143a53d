//! Serves one HTTP/1 connection from accept to close: one request at a time, in order.

use super::input::Input;
use super::output::Output;
use super::receive::Arrival;
use crate::codec::body_pace::Pace;
use crate::content::page;
use crate::pipeline::{self, Gone, RequestContext, RequestHead, SentHead};
use crate::request::{Peer, Protocol};
use crate::shared::uploads::Upload;
use crate::shared::Shared;
use mehari_http::http1::head::{Framing, Head, Version};
use mehari_http::http1::scan::Scan;
use mehari_http::problem::Problem;
use mehari_net::deadline::{ConnectionGuard, Phase};
use mehari_net::socket::Stream;
use mehari_observe::Ending;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

/// How a connection ended.
pub enum ConnectionEnd<S> {
    Closed,
    /// The client sent HTTP/2's preface.
    Http2(Takeover<S>),
}

/// A connection that another protocol takes over, with the bytes that were already read.
pub struct Takeover<S> {
    pub socket: S,
    pub bytes: Vec<u8>,
    pub guard: ConnectionGuard,
    pub peer: Peer,
}

pub struct Connection<S> {
    pub(super) socket: S,
    pub(super) shared: Rc<Shared>,
    pub(super) peer: Peer,
    pub(super) guard: ConnectionGuard,
    pub(super) input: Input,
    pub(super) output: Output,
    pub(super) head: Head,
    pub(super) scan: Scan,
    pub(super) served: u64,
    /// The pace of the body that is being read.
    pub(super) pace: Pace,
    /// The upload whose progress is tracked.
    pub(super) tracked: Option<Rc<Upload>>,
    /// Whether the client has closed its sending side. The client may still read.
    pub(super) client_ended: bool,
    /// Whether the connection has sent a large file.
    pub(super) sends_much: bool,
    /// Whether the connection serves another request after this one.
    pub(super) keep: bool,
    /// Bytes of the current request in the input.
    pub(super) consumed: usize,
    /// Whether the current request was refused because of its bytes.
    pub(super) refused: bool,
    /// Whether a part of the current request's body is unread. The connection then closes after the
    /// response, because the part would be taken for the next request.
    pub(super) owes_body: bool,
}

/// A request that is being answered. Dropping the value writes the line of the access log.
struct Answering<'c, S: Stream> {
    connection: &'c mut Connection<S>,
    context: RequestContext,
}

impl<S: Stream> Drop for Answering<'_, S> {
    fn drop(&mut self) {
        self.connection.record(&mut self.context);
    }
}

/// The next step of the connection after a request.
#[derive(PartialEq)]
enum Next {
    Request,
    Close,
    /// Close after reading for a while: the client may still be sending and must see the response.
    Linger,
    Http2,
}

impl<S: Stream> Connection<S> {
    pub fn new(shared: Rc<Shared>, socket: S, peer: Peer, guard: ConnectionGuard) -> Connection<S> {
        guard.enter(
            &shared.clock,
            Phase::Fresh,
            shared.site().limits.header_timeout,
        );
        Connection {
            socket,
            shared,
            peer,
            guard,
            input: Input::new(),
            output: Output::new(),
            head: Head::default(),
            scan: Scan::default(),
            served: 0,
            pace: Pace::default(),
            tracked: None,
            client_ended: false,
            sends_much: false,
            keep: false,
            consumed: 0,
            refused: false,
            owes_body: false,
        }
    }

    pub async fn serve(mut self) -> ConnectionEnd<S> {
        loop {
            match self.request().await {
                Ok(Next::Request) => {}
                Ok(Next::Linger) => {
                    self.linger().await;
                    return ConnectionEnd::Closed;
                }
                Ok(Next::Http2) => {
                    return ConnectionEnd::Http2(Takeover {
                        bytes: self.input.take(),
                        socket: self.socket,
                        guard: self.guard,
                        peer: self.peer,
                    })
                }
                Ok(Next::Close) => {
                    poll_fn(|cx| {
                        self.socket.send_close_notify(cx);
                        Poll::Ready(())
                    })
                    .await;
                    return ConnectionEnd::Closed;
                }
                Err(Gone) => return ConnectionEnd::Closed,
            }
        }
    }

    /// Waits for a request and answers it.
    async fn request(&mut self) -> Result<Next, Gone> {
        match self.next_head().await? {
            Arrival::Request => self.answer().await,
            Arrival::Refused(problem) => self.refuse_unread(problem).await,
            Arrival::End => {
                self.flush().await?;
                Ok(Next::Close)
            }
            Arrival::Http2 => {
                // The HTTP/2 codec waits for further bytes through the reactor.
                self.socket.watch().map_err(|_| Gone)?;
                Ok(Next::Http2)
            }
        }
    }

    async fn answer(&mut self) -> Result<Next, Gone> {
        let mut answering = Answering {
            context: RequestContext::unbegun(),
            connection: self,
        };
        let Answering {
            connection,
            context,
        } = &mut answering;
        connection.begin(context);
        pipeline::run(&mut **connection, context).await?;
        context.record.ends = if connection.keep {
            Ending::Kept
        } else {
            Ending::Closed
        };
        if context.log_reports.wait() {
            connection.flush().await?;
            context.wait_for_log_handlers().await;
        }
        let trace = context.trace.clone();
        drop(answering);
        if let Some(trace) = trace {
            // Otherwise the response would be sent before the next wait for the client.
            self.flush().await?;
            trace.mark("write");
        }
        self.served += 1;
        self.scan = Scan::default();
        self.head.end_request();
        if self.keep {
            self.input.consume(self.consumed);
            return Ok(Next::Request);
        }
        self.flush().await?;
        let is_refused = self.refused || self.owes_body;
        let unread = self.input.bytes().len() > self.consumed || is_refused;
        if !unread || self.client_ended {
            Ok(Next::Close)
        } else {
            Ok(Next::Linger)
        }
    }

    #[inline(always)]
    fn begin(&mut self, context: &mut RequestContext) {
        let site = self.shared.site();
        let limits = &site.limits;
        let more = limits.keep_alive_requests == 0 || self.served + 1 < limits.keep_alive_requests;
        self.keep = self.head.keep_alive
            && limits.keep_alive.is_some()
            && more
            && !self.shared.connections.stopping.get()
            && !self.client_ended;
        self.consumed = self.head.length;
        self.refused = false;
        self.owes_body = self.head.framing != Framing::None;
        self.peer.kept.set(self.served);
        let protocol = match self.head.version {
            Version::Http10 => Protocol::Http10,
            Version::Http11 => Protocol::Http11,
        };
        pipeline::begin(self, context, protocol);
        context.record.received = self.head.length as u64;
        context.record.kept = self.served;
    }

    /// Answers bytes that are not a request, and ends the connection.
    async fn refuse_unread(&mut self, problem: Problem) -> Result<Next, Gone> {
        self.head.forget();
        let mut answering = Answering {
            context: RequestContext::unbegun(),
            connection: self,
        };
        let Answering {
            connection,
            context,
        } = &mut answering;
        connection.begin(context);
        connection.keep = false;
        let answer = page::answer(problem.status, None);
        pipeline::answer(&mut **connection, context, answer).await?;
        context.record.ends = Ending::Closed;
        drop(answering);
        self.flush().await?;
        Ok(Next::Linger)
    }

    fn record(&self, context: &mut RequestContext) {
        let bytes = self.input.bytes();
        let line =
            (self.head.length > 0).then(|| (self.head.method.of(bytes), self.head.target(bytes)));
        let head = SentHead {
            line,
            host: self.host(),
            fields: self.fields(),
        };
        context.end(&self.shared, &self.peer, head);
    }
}

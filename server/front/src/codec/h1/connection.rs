//! One HTTP/1 connection from accept to close: a request at a time, in order.

use super::input::Input;
use super::output::Output;
use super::receive::Arrival;
use crate::codec::pace::Pace;
use crate::content::page;
use crate::pipeline::{self, ClientStream, Gone, RequestContext};
use crate::request::{Peer, Protocol};
use crate::shared::uploads::Upload;
use crate::shared::Shared;
use mehari_http::http1::head::{Head, Version};
use mehari_http::http1::scan::Scan;
use mehari_http::problem::Problem;
use mehari_net::deadline::{ConnectionGuard, Phase};
use mehari_net::socket::Stream;
use mehari_observe::Ending;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

/// What became of a connection.
pub enum Ended<S> {
    Closed,
    /// The client began with HTTP/2's preface.
    Http2(Takeover<S>),
}

/// A connection for another protocol, with what has been read of it.
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
    /// Of the body that is being read.
    pub(super) pace: Pace,
    /// Whose progress is kept while it is read.
    pub(super) tracked: Option<Rc<Upload>>,
    /// The client sends no more. It may still read: half-closing is legal.
    pub(super) client_ended: bool,
    /// It has sent a large file.
    pub(super) sends_much: bool,
    /// The connection serves another request after the current one.
    pub(super) keep: bool,
    /// Bytes of the input that are the current request.
    pub(super) consumed: usize,
    /// The current request's body has not been read.
    pub(super) refused: bool,
}

/// A request that is being answered. However that ends, it has its line in the access log.
struct Answering<'c, S: Stream> {
    connection: &'c mut Connection<S>,
    context: RequestContext,
}

impl<S: Stream> Drop for Answering<'_, S> {
    fn drop(&mut self) {
        self.connection.record(&self.context);
    }
}

/// What follows a request.
#[derive(PartialEq)]
enum Next {
    Request,
    Close,
    /// Close, but read on for a while: the client may be sending and must see the answer.
    Linger,
    Http2,
}

impl<S: Stream> Connection<S> {
    pub fn new(shared: Rc<Shared>, socket: S, peer: Peer, guard: ConnectionGuard) -> Connection<S> {
        guard.enter(
            &shared.clock,
            Phase::Head,
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
        }
    }

    pub async fn serve(mut self) -> Ended<S> {
        loop {
            match self.request().await {
                Ok(Next::Request) => {}
                Ok(Next::Linger) => {
                    self.linger().await;
                    return Ended::Closed;
                }
                Ok(Next::Http2) => {
                    return Ended::Http2(Takeover {
                        bytes: self.input.take(),
                        socket: self.socket,
                        guard: self.guard,
                        peer: self.peer,
                    })
                }
                Ok(Next::Close) => {
                    poll_fn(|cx| {
                        self.socket.say_goodbye(cx);
                        Poll::Ready(())
                    })
                    .await;
                    return Ended::Closed;
                }
                Err(Gone) => return Ended::Closed,
            }
        }
    }

    /// Waits for a request and answers it.
    async fn request(&mut self) -> Result<Next, Gone> {
        match self.next_head().await? {
            Arrival::Request => {
                if self.socket.is_registered_lazily() {
                    // It may have come after what the loop knows of.
                    self.shared.watcher.read_events();
                }
                self.answer().await
            }
            Arrival::Refused(problem) => self.refuse_unread(problem).await,
            Arrival::End => {
                self.flush().await?;
                Ok(Next::Close)
            }
            Arrival::Http2 => {
                // What has arrived is dealt with before what may follow it, an end among it.
                self.socket.watch().map_err(|_| Gone)?;
                Ok(Next::Http2)
            }
        }
    }

    async fn answer(&mut self) -> Result<Next, Gone> {
        // The context is built where it stays: a copy of it costs more than most stages.
        let mut answering = Answering {
            context: self.begin(),
            connection: self,
        };
        let Answering {
            connection,
            context,
        } = &mut answering;
        pipeline::run(&mut **connection, context).await?;
        context.ends = if connection.keep {
            Ending::Kept
        } else {
            Ending::Closed
        };
        drop(answering);
        self.served += 1;
        self.scan = Scan::default();
        if self.keep {
            self.input.consume(self.consumed);
            return Ok(Next::Request);
        }
        self.flush().await?;
        let unread = self.input.bytes().len() > self.consumed || self.refused;
        if !unread || self.client_ended {
            Ok(Next::Close)
        } else {
            Ok(Next::Linger)
        }
    }

    #[inline(always)]
    fn begin(&mut self) -> RequestContext {
        let site = self.shared.site();
        let limits = &site.limits;
        let more = limits.keep_alive_requests == 0 || self.served + 1 < limits.keep_alive_requests;
        self.keep = self.head.keep_alive
            && limits.keep_alive.is_some()
            && more
            && !self.shared.stopping.get()
            && !self.client_ended;
        self.consumed = self.head.length;
        self.refused = false;
        self.peer.kept.set(self.served);
        let protocol = match self.head.version {
            Version::Http10 => Protocol::Http10,
            Version::Http11 => Protocol::Http11,
        };
        let mut context = pipeline::begin(self, protocol);
        context.received = self.head.length as u64;
        context.kept = self.served;
        context
    }

    /// Answers bytes that are not a request, and ends.
    async fn refuse_unread(&mut self, problem: Problem) -> Result<Next, Gone> {
        self.head.forget();
        let context = self.begin();
        self.keep = false;
        let mut answering = Answering {
            connection: self,
            context,
        };
        let Answering {
            connection,
            context,
        } = &mut answering;
        let answer = page::answer(problem.status, None);
        pipeline::answer(&mut **connection, context, answer).await?;
        context.ends = Ending::Closed;
        drop(answering);
        self.flush().await?;
        Ok(Next::Linger)
    }

    fn record(&self, context: &RequestContext) {
        let bytes = self.input.bytes();
        let line =
            (self.head.length > 0).then(|| (self.head.method.of(bytes), self.head.target(bytes)));
        context.end(&self.shared, &self.peer, line, self.fields());
    }
}

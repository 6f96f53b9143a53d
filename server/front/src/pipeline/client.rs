//! What the pipeline needs of a client: an HTTP/1 connection, or a stream of an HTTP/2 one.

use crate::content::backlog::Backlog;
use crate::content::resource::Resource;
use crate::content::Content;
use crate::handlers::Backend;
use crate::pipeline::RequestContext;
use crate::request::{Fields, Peer, Request};
use crate::shared::uploads::Upload;
use crate::shared::Shared;
use mehari_config::LogLevel;
use mehari_http::problem::Problem;
use mehari_net::deadline::ConnectionGuard;
use mehari_pool::Head;
use std::fs::File;
use std::rc::Rc;
use std::task::{Context, Poll};

/// The client is gone, late, or told to go: nothing more can be said to it.
pub struct Gone;

/// A request's body, complete.
pub enum Gathered {
    Empty,
    /// So many bytes of what the codec has read: see [`ClientStream::buffered`].
    Buffered(usize),
    Memory(Vec<u8>),
    File(File, u64),
}

impl Gathered {
    /// Bytes of the body.
    pub fn length(&self) -> u64 {
        match self {
            Gathered::Empty => 0,
            Gathered::Buffered(length) => *length as u64,
            Gathered::Memory(memory) => memory.len() as u64,
            Gathered::File(_, length) => *length,
        }
    }
}

/// How long the body of a response is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyLength {
    /// The status has no body: 204, 304.
    Bodiless,
    Known(u64),
    /// The program has not said it.
    Unknown,
}

/// How a body lies in the bytes that are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// As it is: its end is known otherwise.
    Plain,
    /// In HTTP/1's chunks.
    Chunked,
    /// As it is, and it ends with the connection.
    UntilClose,
}

/// The head of a response. Its status is that of the request's context.
pub struct ResponseHead<'a> {
    /// Header lines, each `Name: value\r\n`.
    pub lines: [&'a [u8]; 2],
    /// The file whose lines are the first of these.
    pub resource: Option<&'a Resource>,
    pub has_date: bool,
    pub has_server: bool,
    pub length: BodyLength,
    /// Nothing follows.
    pub ends: bool,
}

/// One request and its response, as the protocol between carries them.
pub trait ClientStream {
    fn shared(&self) -> &Rc<Shared>;
    fn peer(&self) -> &Peer;
    /// Where its deadlines are kept.
    fn guard(&self) -> &ConnectionGuard;

    fn method(&self) -> &[u8];
    /// Path and query as sent.
    fn target(&self) -> &[u8];
    fn host(&self) -> &[u8];
    /// The request's own fields, in order of arrival.
    fn fields(&self) -> Fields<'_>;
    /// What the limits say to the head, where the codec did not ask them while it read.
    fn check_head(&self) -> Result<(), Problem>;

    /// There is no body to be read.
    fn is_bodiless(&self) -> bool;
    /// Bytes of the body as far as the client says; 0: it does not.
    fn announced_length(&self) -> u64;
    /// Whose progress is kept while the body is read.
    fn track(&mut self, upload: Option<Rc<Upload>>);
    /// Reads a small body before its time: scripts may ask for it.
    async fn read_for_scripts(
        &mut self,
        context: &mut RequestContext,
    ) -> Result<Result<(), Problem>, Gone>;
    /// Reads the body, of up to `limit` bytes unless that is 0. The inner error: the request is refused, the rest
    /// unread.
    async fn read_body(
        &mut self,
        context: &RequestContext,
        limit: u64,
    ) -> Result<Result<Gathered, Problem>, Gone>;
    /// The body that is [`Gathered::Buffered`].
    fn buffered(&self, length: usize) -> &[u8];
    /// Throws away a body that nobody reads.
    async fn discard_body(&mut self) -> Result<(), Gone>;
    /// The request is refused for this.
    fn note_refusal(&mut self, problem: &Problem);

    /// From now on a program has its time.
    fn begin_work(&self);
    /// What earlier requests were answered leaves before this one waits for others.
    async fn settle(&mut self) -> Result<(), Gone>;
    /// Notices while a program works that the client has gone. `waits`: nobody has begun to work for it.
    fn poll_work(&mut self, cx: &mut Context<'_>, waits: bool) -> Result<(), Gone>;

    /// A 1xx head whose lines have been examined.
    fn send_interim(&mut self, context: &RequestContext, head: &Head) -> Result<(), Gone>;
    /// BlockingPool the client over to who spoke this head. False: it cannot be.
    async fn upgrade(
        &mut self,
        context: &mut RequestContext,
        backend: &mut Backend,
        head: &Head,
    ) -> Result<bool, Gone>;
    fn framing(&self, context: &RequestContext, length: BodyLength) -> Framing;
    fn start_response(
        &mut self,
        context: &mut RequestContext,
        head: &ResponseHead<'_>,
    ) -> Result<(), Gone>;
    /// Sends a body that is there, and ends the response.
    async fn send_content(
        &mut self,
        context: &mut RequestContext,
        content: Content,
    ) -> Result<(), Gone>;
    /// Ends a response whose body has been handed over. `is_cut_off`: the client got less than it was promised.
    async fn end_response(&mut self, is_cut_off: bool, framing: Framing) -> Result<(), Gone>;

    /// For what the client does not take.
    fn backlog(&self) -> Backlog;
    /// Bytes that were handed over and are on their way.
    fn unsent(&self) -> usize;
    /// Those of them that do not count as sent.
    fn withheld(&self) -> usize;
    /// Where bytes of a body may be appended as long as none wait in the backlog; `None`: all go through that.
    fn buffer(&mut self) -> Option<&mut Vec<u8>>;
    /// How many of `waiting` bytes the client takes now.
    fn poll_room(&mut self, cx: &mut Context<'_>, waiting: u64) -> Poll<Result<usize, Gone>>;
    /// BlockingPool over bytes after [`ClientStream::poll_room`].
    fn push(&mut self, bytes: Vec<u8>);
    /// Writes some of what was handed over; `is_last`: it is the end of the body.
    fn poll_write(&mut self, cx: &mut Context<'_>, is_last: bool) -> Poll<Result<(), Gone>>;
    /// The client has bytes to take, and takes none.
    fn is_blocked(&self) -> bool;
    /// The client takes bytes all the same: those of its other streams.
    fn takes_others(&mut self) -> bool;
    /// Notices while nothing moves that the client has gone.
    fn poll_client(&mut self, cx: &mut Context<'_>) -> Result<(), Gone>;

    /// A line in the error log.
    fn log(&self, context: &RequestContext, text: &str) {
        context.log(self.shared(), LogLevel::Error, self.target(), text);
    }
}

/// What knows a request: a client, or a page that includes another path.
pub trait RequestSource {
    /// The request as rules and handlers see it by now.
    fn request<'t>(&'t self, context: &'t RequestContext) -> Request<'t>;
}

impl<C: ClientStream> RequestSource for C {
    fn request<'t>(&'t self, context: &'t RequestContext) -> Request<'t> {
        let (method, target) = (self.method(), self.target());
        let state = context.rule_state.as_deref();
        let changed = state.and_then(|state| state.fields.as_deref());
        Request {
            method: match (&context.redirect, context.is_head) {
                (Some(redirect), false) if !redirect.keeps_request => b"GET",
                _ => method,
            },
            asked_method: method,
            target,
            resource: match &context.redirect {
                Some(redirect) => &redirect.target,
                None => target,
            },
            redirect: context.redirect.as_ref(),
            protocol: context.protocol,
            fields: changed.map_or_else(|| self.fields(), Fields::Owned),
            host: self.host(),
            peer: context.client(self.peer()),
            virtual_host: context.host,
            rule_state: state,
            id: context.id,
        }
    }
}

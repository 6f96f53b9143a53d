//! Defines how the pipeline uses a client: an HTTP/1 connection or an HTTP/2 stream.

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

/// The end of a request whose client cannot be answered: the client has left or was too slow, or
/// the connection was ended.
pub struct Gone;

pub const TOO_LARGE: Problem = Problem::malformed(413, "the body is larger than LimitRequestBody");

/// The complete body of a request.
pub enum Gathered {
    Empty,
    /// This many bytes in the codec's buffer: see [`ClientStream::buffered`].
    Buffered(usize),
    Memory(Vec<u8>),
    File(File, u64),
}

impl Gathered {
    /// Returns the length of the body in bytes.
    pub fn length(&self) -> u64 {
        match self {
            Gathered::Empty => 0,
            Gathered::Buffered(length) => *length as u64,
            Gathered::Memory(memory) => memory.len() as u64,
            Gathered::File(_, length) => *length,
        }
    }
}

/// The length of a response's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyLength {
    /// The status has no body: 204, 304.
    Bodiless,
    Known(u64),
    /// The program has not said the length.
    Unknown,
}

/// The framing of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// The body is not framed. Its length, the protocol or the status says where it ends.
    Plain,
    /// The body is sent in HTTP/1's chunks.
    Chunked,
    /// The body is not framed, and the end of the connection ends it.
    UntilClose,
}

/// The head of a response. The status is in the request's context.
pub struct ResponseHead<'a> {
    /// Header lines, each `Name: value\r\n`.
    pub lines: [&'a [u8]; 2],
    /// The file whose own header lines are sent first.
    pub resource: Option<&'a Resource>,
    pub has_date: bool,
    pub has_server: bool,
    pub length: BodyLength,
    /// Whether no body follows.
    pub ends: bool,
}

/// The head of a request as the client sent it. A codec parses a head once and keeps it until the
/// request has been answered: HTTP/1 as spans of the connection's buffer, HTTP/2 as the parts of
/// the crate `h2`. To look at a part, nothing is copied. Rules note their changes in the request's
/// context and never change the head.
pub trait RequestHead {
    fn method(&self) -> &[u8];
    /// Returns path and query.
    fn target(&self) -> &[u8];
    /// Returns the host of the target, or else the host of the Host field.
    fn host(&self) -> &[u8];
    /// Returns the fields in order of arrival.
    fn fields(&self) -> Fields<'_>;
}

/// One request and its response over any protocol.
pub trait ClientStream: RequestHead {
    fn shared(&self) -> &Rc<Shared>;
    fn peer(&self) -> &Peer;
    /// Returns the guard of the client's deadlines.
    fn guard(&self) -> &ConnectionGuard;

    /// Checks the limits of the head that the codec did not check while it read the head.
    fn check_head(&self) -> Result<(), Problem>;

    /// Whether the request has no body.
    fn is_bodiless(&self) -> bool;
    /// Returns the body's length according to the client. 0: unknown.
    fn announced_length(&self) -> u64;
    /// Tracks the progress of an upload while the body is read.
    fn track(&mut self, upload: Option<Rc<Upload>>);
    /// Reads a small body before edge Lua scripts run, so that they can see the body.
    async fn read_for_scripts(
        &mut self,
        context: &mut RequestContext,
    ) -> Result<Result<(), Problem>, Gone>;
    /// Reads the body: at most `limit` bytes, or any number if `limit` is 0. The inner error says
    /// why the request is refused. The rest of the body is then unread.
    async fn read_body(
        &mut self,
        context: &RequestContext,
        limit: u64,
    ) -> Result<Result<Gathered, Problem>, Gone>;
    /// Returns the body that is [`Gathered::Buffered`].
    fn buffered(&self, length: usize) -> &[u8];
    /// Discards an unwanted body.
    async fn discard_body(&mut self) -> Result<(), Gone>;
    /// Notes why the request is refused.
    fn note_refusal(&mut self, problem: &Problem);

    /// Notes that the handler begins to work, so that no time limit for the client applies.
    fn begin_work(&self);
    /// Sends the responses to earlier requests before this request waits.
    async fn settle(&mut self) -> Result<(), Gone>;
    /// Notices, while a program works, that the client has left. `waits`: the request is still in
    /// the queue.
    fn poll_work(&mut self, cx: &mut Context<'_>, waits: bool) -> Result<(), Gone>;

    /// Sends a 1xx head whose lines have been checked.
    fn send_interim(&mut self, context: &RequestContext, head: &Head) -> Result<(), Gone>;
    /// Connects the client with the back end that has sent this head of an upgrade. Returns false
    /// if that is impossible.
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
    /// Sends a complete body and ends the response.
    async fn send_content(
        &mut self,
        context: &mut RequestContext,
        content: Content,
    ) -> Result<(), Gone>;
    /// Ends a response whose body was handed over. `is_cut_off`: the body is shorter than
    /// announced.
    async fn end_response(&mut self, is_cut_off: bool, framing: Framing) -> Result<(), Gone>;

    /// Returns a new backlog, for data that the client does not take yet.
    fn backlog(&self) -> Backlog;
    /// Returns the number of bytes that were handed over and not sent yet.
    fn unsent(&self) -> usize;
    /// Returns how many of the unsent bytes the codec itself holds back. The others count as sent.
    fn withheld(&self) -> usize;
    /// Returns a buffer to which body data are appended while the backlog is empty. `None`: all
    /// data go through the backlog.
    fn buffer(&mut self) -> Option<&mut Vec<u8>>;
    /// Returns how many of the `waiting` bytes the client takes now.
    fn poll_room(&mut self, cx: &mut Context<'_>, waiting: u64) -> Poll<Result<usize, Gone>>;
    /// Hands over bytes after [`ClientStream::poll_room`].
    fn push(&mut self, bytes: Vec<u8>);
    /// Writes some of the handed-over bytes. `is_last`: they end the body.
    fn poll_write(&mut self, cx: &mut Context<'_>, is_last: bool) -> Poll<Result<(), Gone>>;
    /// Whether there are data for the client and the client takes none.
    fn is_blocked(&self) -> bool;
    /// Whether the client takes data of other streams of its connection.
    fn takes_other_streams(&mut self) -> bool;
    /// Notices, while nothing moves, that the client has left.
    fn poll_client(&mut self, cx: &mut Context<'_>) -> Result<(), Gone>;

    /// Notices, after the head of a response without a body, that the client has left.
    fn poll_departure(&mut self, cx: &mut Context<'_>) -> bool;

    /// Writes a line to the error log.
    fn log(&self, context: &RequestContext, text: &str) {
        context.log(self.shared(), LogLevel::Error, self.target(), text);
    }
}

/// Something that can show a request: a client, or a page that includes another path.
pub trait RequestSource {
    /// Returns the request as rules and handlers see it now.
    fn request<'t>(&'t self, context: &'t RequestContext) -> Request<'t>;
}

impl<C: ClientStream> RequestSource for C {
    fn request<'t>(&'t self, context: &'t RequestContext) -> Request<'t> {
        let (method, target) = (self.method(), self.target());
        let state = context.rule_state.as_deref();
        let changed = state.and_then(|state| state.fields.as_deref());
        Request {
            method: match (&context.redirect, context.is_head) {
                (Some(redirect), false) if !redirect.keeps_request() => b"GET",
                _ => state
                    .and_then(|state| state.method.name.as_deref())
                    .unwrap_or(method),
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
            trace: context.trace.as_ref(),
        }
    }
}

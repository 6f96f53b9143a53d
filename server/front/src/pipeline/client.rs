//! A client as the pipeline sees it: an HTTP/1 connection or an HTTP/2 stream.

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

/// The client has left, is late or was sent away. Nothing more can be sent.
pub struct Gone;

/// The complete body of a request.
pub enum Gathered {
    Empty,
    /// This many bytes in the codec's buffer: see [`ClientStream::buffered`].
    Buffered(usize),
    Memory(Vec<u8>),
    File(File, u64),
}

impl Gathered {
    /// Length of the body.
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
    /// Unframed; its end is known otherwise.
    Plain,
    /// In HTTP/1's chunks.
    Chunked,
    /// Unframed; it ends with the connection.
    UntilClose,
}

/// The head of a response. The status is in the request's context.
pub struct ResponseHead<'a> {
    /// Header lines, each `Name: value\r\n`.
    pub lines: [&'a [u8]; 2],
    /// The file whose header lines come first.
    pub resource: Option<&'a Resource>,
    pub has_date: bool,
    pub has_server: bool,
    pub length: BodyLength,
    /// No body follows.
    pub ends: bool,
}

/// The head of a request as the client sent it. A codec parses a head once and keeps the head until
/// the request has been answered: HTTP/1 as spans of the connection's buffer, HTTP/2 as the parts
/// of the crate `h2`. Nothing is copied to look at a part. Rules change a request in its context,
/// never in its head.
pub trait RequestHead {
    fn method(&self) -> &[u8];
    /// Path and query.
    fn target(&self) -> &[u8];
    /// Of the target if that had one, else of the Host field.
    fn host(&self) -> &[u8];
    /// In order of arrival.
    fn fields(&self) -> Fields<'_>;
}

/// One request and its response over any protocol.
pub trait ClientStream: RequestHead {
    fn shared(&self) -> &Rc<Shared>;
    fn peer(&self) -> &Peer;
    /// The guard of the client's deadlines.
    fn guard(&self) -> &ConnectionGuard;

    /// Checks the limits of the head that the codec did not check while it read.
    fn check_head(&self) -> Result<(), Problem>;

    /// Whether the request has no body.
    fn is_bodiless(&self) -> bool;
    /// The body's length according to the client. 0: unknown.
    fn announced_length(&self) -> u64;
    /// Tracks the progress of an upload while the body is read.
    fn track(&mut self, upload: Option<Rc<Upload>>);
    /// Reads a small body early for scripts.
    async fn read_for_scripts(
        &mut self,
        context: &mut RequestContext,
    ) -> Result<Result<(), Problem>, Gone>;
    /// Reads the body, up to `limit` bytes unless that is 0. The inner error: the request is
    /// refused and the rest unread.
    async fn read_body(
        &mut self,
        context: &RequestContext,
        limit: u64,
    ) -> Result<Result<Gathered, Problem>, Gone>;
    /// The body that is [`Gathered::Buffered`].
    fn buffered(&self, length: usize) -> &[u8];
    /// Discards an unwanted body.
    async fn discard_body(&mut self) -> Result<(), Gone>;
    /// Notes why the request is refused.
    fn note_refusal(&mut self, problem: &Problem);

    /// Notes that the program's time begins.
    fn begin_work(&self);
    /// Sends the responses to earlier requests before this one waits.
    async fn settle(&mut self) -> Result<(), Gone>;
    /// Notices, while a program works, that the client has left. `waits`: no work has begun.
    fn poll_work(&mut self, cx: &mut Context<'_>, waits: bool) -> Result<(), Gone>;

    /// Sends a 1xx head whose lines have been checked.
    fn send_interim(&mut self, context: &RequestContext, head: &Head) -> Result<(), Gone>;
    /// Connects the client with the sender of this head after an upgrade. Returns false if that is
    /// impossible.
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
    /// Ends a response whose body was handed over. `is_cut_off`: the client got less than
    /// announced.
    async fn end_response(&mut self, is_cut_off: bool, framing: Framing) -> Result<(), Gone>;

    /// A backlog for data that the client does not take.
    fn backlog(&self) -> Backlog;
    /// Bytes that were handed over and not sent yet.
    fn unsent(&self) -> usize;
    /// The part of the unsent bytes that counts as not sent to the client.
    fn withheld(&self) -> usize;
    /// A buffer for appending body data while the backlog is empty. `None`: all data go through the
    /// backlog.
    fn buffer(&mut self) -> Option<&mut Vec<u8>>;
    /// How many of `waiting` bytes the client takes now.
    fn poll_room(&mut self, cx: &mut Context<'_>, waiting: u64) -> Poll<Result<usize, Gone>>;
    /// Hands over bytes after [`ClientStream::poll_room`].
    fn push(&mut self, bytes: Vec<u8>);
    /// Writes some of the handed-over bytes. `is_last`: they end the body.
    fn poll_write(&mut self, cx: &mut Context<'_>, is_last: bool) -> Poll<Result<(), Gone>>;
    /// Whether the client has data to take and takes none.
    fn is_blocked(&self) -> bool;
    /// Whether the client takes data of its other streams.
    fn takes_other_streams(&mut self) -> bool;
    /// Notices, while nothing moves, that the client has left.
    fn poll_client(&mut self, cx: &mut Context<'_>) -> Result<(), Gone>;

    /// Writes a line to the error log.
    fn log(&self, context: &RequestContext, text: &str) {
        context.log(self.shared(), LogLevel::Error, self.target(), text);
    }
}

/// Something that knows a request: a client, or a page that includes another path.
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

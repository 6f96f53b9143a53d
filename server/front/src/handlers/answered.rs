//! An answer of the front as a back end, so that filters can change its body.

use crate::content::body::FileBody;
use crate::content::{Answer, Content};
use crate::handlers::{BackendHead, Fault};
use mehari_pool::Head;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{ready, Context, Poll};

/// The most bytes taken from a file at a time.
const ROOM: usize = 64 * 1024;

pub struct Answered {
    head: Option<Head>,
    body: Body,
}

enum Body {
    /// The bytes, of which the first ones have been taken.
    Content(Content, usize),
    File(Pin<Box<dyn Future<Output = ReadPart>>>),
    Nothing,
}

/// A file, the next part of its bytes, and whether more bytes may follow.
type ReadPart = (Box<FileBody>, Vec<u8>, io::Result<bool>);

impl Answered {
    pub fn new(answer: Answer) -> Answered {
        let head = Head {
            status: answer.status,
            lines: answer.lines().concat(),
            content_length: Some(answer.content.length()),
            ..Head::default()
        };
        Answered {
            head: Some(head),
            body: match answer.content {
                Content::File(body) => read_part(body),
                content => Body::Content(content, 0),
            },
        }
    }

    /// Changes the head before it is taken.
    pub fn change_head(&mut self, change: impl FnOnce(&mut Answer)) {
        if let Some(head) = &mut self.head {
            let mut answer = Answer::new(head.status, std::mem::take(&mut head.lines));
            change(&mut answer);
            (head.status, head.lines) = (answer.status, answer.lines);
        }
    }

    pub fn poll_head(&mut self) -> Poll<Result<BackendHead, Fault>> {
        Poll::Ready(Ok(match self.head.take() {
            Some(head) => BackendHead::Response(head),
            None => BackendHead::Page(500),
        }))
    }

    pub fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Poll<Result<bool, Fault>> {
        match &mut self.body {
            Body::Nothing => Poll::Ready(Ok(false)),
            Body::Content(content, taken) => {
                let bytes = bytes(content);
                let end = bytes.len().min(taken.saturating_add(room));
                into.extend_from_slice(&bytes[*taken..end]);
                let has_more = end > *taken;
                *taken = end;
                Poll::Ready(Ok(has_more))
            }
            Body::File(reading) => {
                let (body, part, more) = ready!(reading.as_mut().poll(cx));
                into.extend_from_slice(&part);
                self.body = match more {
                    Ok(true) => read_part(body),
                    Ok(false) => Body::Nothing,
                    Err(_) => {
                        self.body = Body::Nothing;
                        return Poll::Ready(Err(Fault::File));
                    }
                };
                Poll::Ready(Ok(true))
            }
        }
    }

    /// Whether the whole body is in memory.
    pub fn is_complete(&self) -> bool {
        !matches!(self.body, Body::File(_))
    }
}

fn bytes(content: &Content) -> &[u8] {
    match content {
        Content::Bytes(bytes) => bytes,
        Content::Shared(bytes) => bytes,
        Content::Cached(resource) => resource.body(),
        Content::File(_) => &[],
    }
}

fn read_part(mut body: Box<FileBody>) -> Body {
    Body::File(Box::pin(async move {
        let mut part = Vec::new();
        let more = body.read(&mut part, ROOM).await;
        (body, part, more)
    }))
}

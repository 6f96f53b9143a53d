//! Wraps a body: the body passes unchanged, and its first bytes are kept.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

/// The captured part of a body.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    pub bytes: Vec<u8>,
    /// The number of bytes that passed, kept or not.
    pub size: u64,
    /// Whether the body ended properly.
    pub complete: bool,
}

impl Captured {
    /// Returns whether every byte was kept.
    pub fn is_whole(&self) -> bool {
        self.bytes.len() as u64 == self.size
    }
}

pub type Finish = Box<dyn FnOnce(Captured) + Send>;

/// A body that passes `inner` on and keeps its first `limit` bytes. It calls `finish` once with the
/// kept part: at the end, at an error, or when the body is dropped because the reader has gone.
pub struct Capture {
    inner: Incoming,
    captured: Captured,
    limit: usize,
    finish: Option<Finish>,
}

impl Capture {
    pub fn new(inner: Incoming, limit: usize, finish: Finish) -> Capture {
        Capture {
            inner,
            captured: Captured::default(),
            limit,
            finish: Some(finish),
        }
    }

    fn keep(&mut self, data: &Bytes) {
        self.captured.size += data.len() as u64;
        let room = self.limit.saturating_sub(self.captured.bytes.len());
        let kept = &data[..data.len().min(room)];
        self.captured.bytes.extend_from_slice(kept);
    }

    fn end(&mut self, complete: bool) {
        if let Some(finish) = self.finish.take() {
            self.captured.complete = complete;
            finish(std::mem::take(&mut self.captured));
        }
    }
}

impl Body for Capture {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    self.keep(data);
                }
                // A reader that knows the length may never ask for the end of the body.
                if self.inner.is_end_stream() {
                    self.end(true);
                }
            }
            Poll::Ready(None) => self.end(true),
            Poll::Ready(Some(Err(_))) => self.end(false),
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        let complete = self.inner.is_end_stream();
        self.end(complete);
    }
}

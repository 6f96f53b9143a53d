//! Sends an answer of the front through Perl's output filters.
//!
//! A worker whose handlers have declined sends `FETCH`, keeps the request and waits. The worker
//! gets the head of the front's answer as the outcome and the body through a socket. The worker
//! sends the output of its filters as the response. `pipeline` calls [`begin`], also for paths that
//! pages with server-side includes request.

use crate::content::Answer;
use crate::handlers::{Backend, BackendHead, Fault, HandlerOutcome};
use crate::shared::PerlExchange;
use mehari_pool::{Fetch, Head, ResponseOutcome, FETCH_FOLLOWS};
use rustix::net::{send, SendFlags};
use std::io;
use std::task::{ready, Context, Poll};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// The most bytes taken from the answer at a time.
const ROOM: usize = 64 * 1024;

pub struct Through {
    pub exchange: PerlExchange,
    /// The front's handler, if its head has not arrived yet.
    asked: Option<Box<Backend>>,
    /// Changes the response of a program or a back end first.
    before: Option<Before>,
    /// Whether a program makes the response.
    of_program: bool,
    flow: Flow,
}

/// A filter before Perl's filters. It gets the head, and the back end whose body follows.
pub type Before = Box<dyn FnOnce(&mut Head, &mut Backend)>;

/// The answer's body on its way to the worker.
struct Flow {
    /// `None`: the worker has the whole body, or reads no more.
    socket: Option<UnixStream>,
    /// The answer. `None`: there is no body, or it has ended.
    source: Option<Box<Backend>>,
    buffer: Vec<u8>,
    sent: usize,
    /// Why the body is incomplete.
    fault: Option<Fault>,
}

/// Gives the front's answer to the filters of the worker that asked for it. As in Apache, the pages
/// that the server makes for redirects and errors are not filtered. `before`: the filter before
/// Perl's filters, if any.
///
/// # Errors
/// Returns the exchange and the answer if the answer does not pass through filters.
pub fn begin(
    exchange: PerlExchange,
    work: HandlerOutcome,
    before: Option<Before>,
) -> Result<HandlerOutcome, (PerlExchange, HandlerOutcome)> {
    let Some(fetch) = exchange.take_fetch() else {
        return Err((exchange, work));
    };
    let Ok(flow) = Flow::to(*fetch) else {
        return Err((exchange, work));
    };
    let mut through = Through {
        exchange,
        asked: None,
        before,
        of_program: false,
        flow,
    };
    match work {
        HandlerOutcome::Backend(backend) => {
            through.of_program = matches!(backend, Backend::Cgi(_));
            through.asked = Some(Box::new(backend));
        }
        HandlerOutcome::Answer(answer) if is_for_filters(&answer) => through.give_answer(answer),
        work => return Err((through.exchange, work)),
    }
    Ok(HandlerOutcome::Backend(Backend::Through(Box::new(through))))
}

fn is_for_filters(answer: &Answer) -> bool {
    answer.status < 300
}

impl Through {
    pub fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<BackendHead, Fault>> {
        if let Some(asked) = &mut self.asked {
            match ready!(asked.poll_head(cx)) {
                Ok(BackendHead::Response(mut head)) => {
                    if let Some(before) = self.before.take() {
                        before(&mut head, asked);
                    }
                    self.give(head)
                }
                Ok(BackendHead::Answered(answer)) if is_for_filters(&answer) => {
                    self.give_answer(*answer)
                }
                // The front answers without the filters and closes the socket.
                other => {
                    self.flow.socket = None;
                    return Poll::Ready(other);
                }
            }
        }
        self.flow.poll(cx);
        match self.flow.fault {
            Some(fault) => Poll::Ready(Err(fault)),
            None => super::backend_head(self.exchange.poll_head(cx)),
        }
    }

    pub fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Poll<Result<bool, Fault>> {
        self.flow.poll(cx);
        let moved = self.exchange.poll_body(cx, into, room);
        self.exchange
            .note_pause(matches!(moved, Poll::Ready(Ok(true))));
        match (moved, self.flow.fault) {
            (Poll::Ready(Ok(false)), Some(fault)) => Poll::Ready(Err(fault)),
            (moved, _) => moved.map_err(Fault::from),
        }
    }

    pub fn is_complete(&self) -> bool {
        self.exchange.is_complete() && self.flow.fault.is_none()
    }

    pub fn is_of_program(&self) -> bool {
        self.of_program
    }

    pub fn take_interim(&mut self) -> Option<Head> {
        match &mut self.asked {
            Some(asked) => asked.take_interim(),
            None => self.exchange.take_interim(),
        }
    }

    /// Gives the worker the head of a back end's response. The body follows.
    fn give(&mut self, head: Head) {
        self.exchange.report_outcome(ResponseOutcome {
            status: head.status,
            bytes: 0,
            head: &head.lines,
        });
        self.flow.source = self.asked.take();
    }

    fn give_answer(&mut self, answer: Answer) {
        self.asked = None;
        let head = answer.lines().concat();
        self.exchange.report_outcome(ResponseOutcome {
            status: answer.status,
            bytes: 0,
            head: &head,
        });
        self.flow.source = Some(Box::new(Backend::answered(answer)));
    }
}

impl Flow {
    /// Prepares to send a body to the worker. An error means that the worker's socket is unusable.
    fn to(fetch: Fetch) -> io::Result<Flow> {
        let socket = std::os::unix::net::UnixStream::from(fetch.socket);
        socket.set_nonblocking(true)?;
        Ok(Flow {
            socket: Some(UnixStream::from_std(socket)?),
            source: None,
            buffer: vec![FETCH_FOLLOWS],
            sent: 0,
            fault: None,
        })
    }

    /// Moves bytes from the answer to the worker until the answer or the worker is not ready.
    fn poll(&mut self, cx: &mut Context<'_>) {
        while self.socket.is_some() {
            let moved = if self.sent < self.buffer.len() {
                self.poll_send(cx)
            } else {
                self.buffer.clear();
                self.sent = 0;
                self.poll_fill(cx)
            };
            match moved {
                Poll::Ready(true) => {}
                Poll::Ready(false) => self.stop(),
                Poll::Pending => return,
            }
        }
    }

    /// Closes the socket, which ends the body.
    fn stop(&mut self) {
        self.socket = None;
        self.source = None;
        self.buffer = Vec::new();
    }

    /// Sends bytes to the worker. `false`: the worker reads no more.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let Some(socket) = &self.socket else {
            return Poll::Ready(false);
        };
        if ready!(socket.poll_write_ready(cx)).is_err() {
            return Poll::Ready(false);
        }
        // The worker shares the socket's flags and may clear O_NONBLOCK, so each call has DONTWAIT.
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let rest = &self.buffer[self.sent..];
        let sent = socket.try_io(Interest::WRITABLE, || Ok(send(socket, rest, flags)?));
        match sent {
            Ok(count) => self.sent += count,
            // The next `poll_write_ready` waits.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return Poll::Ready(false),
        }
        Poll::Ready(true)
    }

    /// Reads the next bytes of the answer. `false`: the body has ended.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let Some(source) = &mut self.source else {
            return Poll::Ready(false);
        };
        match ready!(source.poll_body(cx, &mut self.buffer, ROOM)) {
            Ok(true) => Poll::Ready(true),
            Ok(false) => {
                self.source = None;
                Poll::Ready(true)
            }
            Err(fault) => {
                self.fault = Some(fault);
                Poll::Ready(false)
            }
        }
    }
}

//! Serves one request with a program. The front polls this exchange as it polls the pool's
//! exchange.

use super::keeper::{Exit, Started, Verdict};
use super::reader::{Arrival, Reader};
use super::ScriptHead;
use mehari_observe::{ErrorLog, LogLevel, Origin};
use mehari_pool::script_head::{self, Form};
use mehari_pool::{held_open, Fault, Head, NamedContent};
use std::fmt::Display;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use std::time::Duration;
use tokio::sync::oneshot;

/// The number of bytes per read while the head is searched.
const READ: usize = 16 * 1024;

/// The program's output and its kind.
pub struct ProgramOutput {
    pub log: ErrorLog,
    pub file: PathBuf,
    /// The origin of lines about the request.
    pub origin: Origin,
    pub form: Form,
    pub content: Option<Box<NamedContent>>,
}

/// A request that a program serves. If the exchange is dropped early, the client has gone: the
/// program and its group are stopped.
pub struct CgiExchange {
    about: ProgramOutput,
    timeout: Duration,
    state: ExchangeState,
    /// Tells the keeper that the response is complete. `None` if the keeper already knows.
    verdict: Option<oneshot::Sender<Verdict>>,
    pid: Option<u32>,
    queued: Duration,
}

enum ExchangeState {
    Starting(oneshot::Receiver<Result<Started, Fault>>),
    /// The reader, the bytes so far, and how many of them were searched for the end of the head.
    Head(Reader, Vec<u8>, usize),
    Body(Body),
    Over,
}

struct Body {
    reader: Reader,
    /// The part of the body that came with the head.
    early: Vec<u8>,
    /// The number of bytes still to come, according to Content-Length.
    left: Option<u64>,
}

impl CgiExchange {
    pub(super) fn new(
        about: ProgramOutput,
        started: oneshot::Receiver<Result<Started, Fault>>,
        verdict: oneshot::Sender<Verdict>,
        timeout: Duration,
    ) -> CgiExchange {
        CgiExchange {
            about,
            timeout,
            state: ExchangeState::Starting(started),
            verdict: Some(verdict),
            pid: None,
            queued: Duration::ZERO,
        }
    }

    /// Returns the response's head or the local redirect. The function is ready only once. After a
    /// redirect no other call may follow.
    pub fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<ScriptHead, Fault>> {
        loop {
            match &mut self.state {
                ExchangeState::Starting(started) => {
                    let started = ready!(Pin::new(started).poll(cx));
                    match started.unwrap_or(Err(Fault::Stopping)) {
                        Ok(started) => self.begin(started),
                        Err(fault) => return Poll::Ready(Err(self.fail(fault))),
                    }
                }
                ExchangeState::Head(reader, bytes, searched) => {
                    if let Some(end) = script_head::end(bytes, *searched) {
                        return Poll::Ready(self.read_head(end));
                    }
                    *searched = bytes.len();
                    if bytes.len() > script_head::LONGEST {
                        let why = script_head::Malformed::TooLarge;
                        return Poll::Ready(Err(self.malformed(why)));
                    }
                    match ready!(reader.poll_read(cx, bytes, READ)) {
                        Ok(Arrival::Bytes) => {}
                        Ok(Arrival::End(_) | Arrival::Held(_)) => {
                            return Poll::Ready(Err(self.premature()))
                        }
                        Err(fault) => return Poll::Ready(Err(self.fail(fault))),
                    }
                }
                ExchangeState::Body(_) | ExchangeState::Over => {
                    return Poll::Ready(Err(Fault::BadResponse))
                }
            }
        }
    }

    /// Appends arrived parts of the body to `into`, at most `room` bytes. Returns `Ok(true)` if
    /// more may come, and `Ok(false)` if the body is complete. The program waits while this
    /// function is not called.
    pub fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Poll<Result<bool, Fault>> {
        let ExchangeState::Body(body) = &mut self.state else {
            return Poll::Ready(match self.state {
                ExchangeState::Over => Ok(false),
                _ => Err(Fault::BadResponse),
            });
        };
        let (before, room) = (into.len(), room.max(1));
        let arrival = if !body.early.is_empty() {
            let count = body.early.len().min(room);
            into.extend(body.early.drain(..count));
            Ok(Arrival::Bytes)
        } else if body.left == Some(0) {
            Ok(Arrival::Bytes)
        } else {
            ready!(body.reader.poll_read(cx, into, room))
        };
        let came = (into.len() - before) as u64;
        Poll::Ready(match (arrival, body.left) {
            (Ok(Arrival::Bytes), Some(left)) if came >= left => {
                into.truncate(before + left as usize);
                let more = came > left || !body.early.is_empty();
                self.cut(more);
                Ok(false)
            }
            (Ok(Arrival::Bytes), left) => {
                body.left = left.map(|left| left - came);
                Ok(true)
            }
            (Ok(Arrival::End(exit)), left) => self.end(exit, left),
            (Ok(Arrival::Held(exit)), left) => {
                self.log(LogLevel::Warn, held_open(&self.about.file, self.timeout));
                self.end(exit, left)
            }
            (Err(fault), _) => Err(self.fail(fault)),
        })
    }

    /// Discards the rest of the response, for example after a HEAD request, but lets the program
    /// finish.
    pub fn discard(mut self) {
        self.release(true);
    }

    /// Returns whether `poll_body` completes without waiting.
    pub fn is_complete(&self) -> bool {
        matches!(self.state, ExchangeState::Over)
    }

    /// Returns the program's process number, once the program runs.
    pub fn worker(&self) -> Option<u32> {
        self.pid
    }

    /// Returns how long the request waited for other programs to end.
    pub fn queued(&self) -> Duration {
        self.queued
    }

    fn begin(&mut self, started: Started) {
        self.pid = Some(started.pid);
        self.queued = started.queued;
        let reader = Reader::new(started, self.timeout);
        self.state = ExchangeState::Head(reader, Vec::with_capacity(READ), 0);
    }

    fn read_head(&mut self, end: usize) -> Result<ScriptHead, Fault> {
        let ExchangeState::Head(reader, mut bytes, _) =
            std::mem::replace(&mut self.state, ExchangeState::Over)
        else {
            return Err(Fault::BadResponse);
        };
        let mut head = match script_head::parse(&bytes[..end], self.about.form) {
            Ok(head) => head,
            Err(why) => return Err(self.malformed(why)),
        };
        bytes.drain(..end);
        // As in Apache, an `nph-` program says all of its head.
        if let (ScriptHead::Response(head), Some(content), Form::Parsed) =
            (&mut head, &self.about.content, self.about.form)
        {
            head.add_named_content(content);
        }
        let left = match &head {
            ScriptHead::Response(Head { content_length, .. }) => *content_length,
            ScriptHead::LocalRedirect { .. } | ScriptHead::Declined(_) | ScriptHead::Rules(_) => {
                None
            }
        };
        self.state = ExchangeState::Body(Body {
            reader,
            early: bytes,
            left,
        });
        if matches!(head, ScriptHead::LocalRedirect { .. }) {
            self.release(true);
        }
        Ok(head)
    }

    /// Lets the program finish, because the response is complete. With `listen` the program's
    /// further output is read and dropped.
    fn release(&mut self, listen: bool) {
        let state = std::mem::replace(&mut self.state, ExchangeState::Over);
        let rest = match state {
            ExchangeState::Head(reader, ..) | ExchangeState::Body(Body { reader, .. })
                if listen =>
            {
                Some(reader.into_stdout())
            }
            _ => None,
        };
        if let Some(verdict) = self.verdict.take() {
            // Sending fails if the program has ended, because its keeper is gone then.
            let _ = verdict.send(rest);
        }
    }

    /// Ends the body, because Content-Length is reached.
    fn cut(&mut self, more: bool) {
        if more {
            let file = self.about.file.display();
            let text = format!("{file} printed more than its Content-Length; the rest is cut");
            self.log(LogLevel::Warn, text);
        }
        self.release(true);
    }

    /// Ends the body, because stdout has ended. The body is incomplete if it is shorter than
    /// Content-Length or if the program was killed.
    fn end(&mut self, exit: Option<Exit>, left: Option<u64>) -> Result<bool, Fault> {
        let file = self.about.file.display();
        if let Some(left) = left {
            let text = format!("{file} ended {left} bytes short of its Content-Length");
            self.log(LogLevel::Error, text);
            return Err(self.fail(Fault::WorkerDied));
        }
        if let Some(Exit::Signal(_)) = exit {
            return Err(self.fail(Fault::WorkerDied));
        }
        self.release(false);
        Ok(false)
    }

    fn premature(&mut self) -> Fault {
        let text = format!(
            "Premature end of script headers: {}",
            self.about.file.display()
        );
        self.log(LogLevel::Error, text);
        self.release(true);
        Fault::BadHeader
    }

    fn malformed(&mut self, why: script_head::Malformed) -> Fault {
        let file = self.about.file.display();
        let text = format!("malformed header from script '{file}': Bad header: {why}");
        self.log(LogLevel::Error, text);
        self.fail(Fault::BadHeader)
    }

    /// Gives up the program: dropping the verdict stops it.
    fn fail(&mut self, fault: Fault) -> Fault {
        if fault == Fault::TimedOut {
            let file = self.about.file.display();
            let text = format!("{file} ran longer than {:?} and was stopped", self.timeout);
            self.log(LogLevel::Error, text);
        }
        self.state = ExchangeState::Over;
        self.verdict = None;
        fault
    }

    fn log(&self, level: LogLevel, message: impl Display) {
        let origin = Origin {
            pid: self.pid,
            ..self.about.origin
        };
        self.about.log.log(level, origin, message);
    }
}

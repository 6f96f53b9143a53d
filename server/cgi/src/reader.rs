//! Reads the program's stdout until it closes, the program ends, or the time limit passes.

use super::keeper::{Exit, Started};
use mehari_pool::Fault;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use std::time::Duration;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tokio::time::{sleep_until, Instant, Sleep};

/// How long the reader waits for the program's end after stdout has closed, to learn whether the
/// program was killed.
const EXIT: Duration = Duration::from_millis(50);

/// The result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    Bytes,
    /// No more output comes. The value says how the program ended, if it has ended.
    End(Option<Exit>),
    /// The program has ended, but its child processes have held stdout for the whole time limit and
    /// written nothing.
    Held(Option<Exit>),
}

pub struct Reader {
    stdout: pipe::Receiver,
    closed: bool,
    exit: Result<Exit, oneshot::Receiver<Exit>>,
    /// The time that the program may still spend. Time during which its output is not read does not
    /// count.
    budget: Duration,
    /// How long other processes that hold the stdout may be silent after the program's end.
    timeout: Duration,
    wait: Option<Wait>,
}

struct Wait {
    reason: Reason,
    begun: Instant,
    sleep: Pin<Box<Sleep>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Budget,
    Silence,
    Exit,
}

impl Reader {
    pub fn new(started: Started, timeout: Duration) -> Reader {
        Reader {
            stdout: started.stdout,
            closed: false,
            exit: Err(started.exit),
            budget: timeout,
            timeout,
            wait: None,
        }
    }

    /// Returns the pipe, for a caller that drops the rest of the output.
    pub fn into_stdout(self) -> pipe::Receiver {
        self.stdout
    }

    /// Appends at most `room` bytes to `into`.
    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Poll<Result<Arrival, Fault>> {
        if !self.closed {
            match self.poll_pipe(cx, into, room) {
                Poll::Ready(0) => self.closed = true,
                Poll::Ready(_) => {
                    self.end_wait();
                    return Poll::Ready(Ok(Arrival::Bytes));
                }
                Poll::Pending => {}
            }
        }
        if let Err(exit) = &mut self.exit {
            if let Poll::Ready(Ok(exit)) = Pin::new(exit).poll(cx) {
                self.exit = Ok(exit);
            }
        }
        let exit = self.exit.as_ref().ok().copied();
        let reason = match (self.closed, exit) {
            (true, Some(_)) => return Poll::Ready(Ok(Arrival::End(exit))),
            (true, None) => Reason::Exit,
            (false, Some(_)) => Reason::Silence,
            (false, None) => Reason::Budget,
        };
        ready!(self.poll_wait(reason, cx));
        Poll::Ready(match reason {
            Reason::Budget => Err(Fault::TimedOut),
            Reason::Silence => Ok(Arrival::Held(exit)),
            Reason::Exit => Ok(Arrival::End(exit)),
        })
    }

    /// Reads from the pipe. Returns the number of bytes, or 0 at the end. An error also means that
    /// no more output comes.
    fn poll_pipe(&mut self, cx: &mut Context<'_>, into: &mut Vec<u8>, room: usize) -> Poll<usize> {
        use bytes::BufMut;
        into.reserve(room);
        loop {
            if ready!(self.stdout.poll_read_ready(cx)).is_err() {
                return Poll::Ready(0);
            }
            match self.stdout.try_read_buf(&mut (&mut *into).limit(room)) {
                Ok(count) => return Poll::Ready(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Poll::Ready(0),
            }
        }
    }

    fn poll_wait(&mut self, reason: Reason, cx: &mut Context<'_>) -> Poll<()> {
        if self.wait.as_ref().map(|wait| wait.reason) != Some(reason) {
            self.end_wait();
            let length = match reason {
                Reason::Budget => self.budget,
                Reason::Silence => self.timeout,
                Reason::Exit => EXIT,
            };
            let begun = Instant::now();
            self.wait = Some(Wait {
                reason,
                begun,
                sleep: Box::pin(sleep_until(begun + length)),
            });
        }
        match &mut self.wait {
            Some(wait) => wait.sleep.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }

    /// Ends a wait and charges the program for it.
    fn end_wait(&mut self) {
        if let Some(wait) = self.wait.take() {
            if wait.reason == Reason::Budget {
                self.budget = self.budget.saturating_sub(wait.begun.elapsed());
            }
        }
    }
}

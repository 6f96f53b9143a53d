//! The program's stdout, with what can end it: its close, the program's end, the time limit.

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

/// After stdout is closed, how long the program's own end is waited for, to know whether it was killed.
const EXIT: Duration = Duration::from_millis(50);

/// What a read brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    Bytes,
    /// Nothing more will come; how the program ended, if it has.
    End(Option<Exit>),
    /// The program has ended, and what it started has held its stdout in silence for the whole time limit.
    Held(Option<Exit>),
}

pub struct Reader {
    stdout: pipe::Receiver,
    closed: bool,
    exit: Result<Exit, oneshot::Receiver<Exit>>,
    /// Time the program may still keep us waiting. Time in which nobody reads is not charged.
    budget: Duration,
    /// How long others that hold its stdout may be silent once it has ended.
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

    /// The pipe, for whoever throws the rest away.
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
                    self.settle();
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

    /// Bytes read; 0 is the end. An error on a pipe's read end can only mean that nothing more comes.
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
            self.settle();
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
    fn settle(&mut self) {
        if let Some(wait) = self.wait.take() {
            if wait.reason == Reason::Budget {
                self.budget = self.budget.saturating_sub(wait.begun.elapsed());
            }
        }
    }
}

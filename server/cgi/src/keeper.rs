//! One task a program: from the wait for a place, through the spawn, to the reaped process.
//!
//! Started by [`super::Cgi::start`]; tells the [`super::Exchange`] when the program runs and when it ended, and
//! obeys its verdict. Looking after the process itself is [`running`]'s.

use super::{launch, Shared, Turn};
use mehari_observe::{LogLevel, Origin};
use mehari_pool::Fault;
use running::Running;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::unix::pipe;
use tokio::sync::{oneshot, OwnedSemaphorePermit};
use tokio::time::timeout;

mod running;

pub use running::signal;

pub struct Work {
    pub command: Command,
    pub file: PathBuf,
    pub request: u64,
    /// For a program that goes on after its response.
    pub timeout: Duration,
    pub turn: Turn,
}

/// What the exchange gets once the program runs.
pub struct Started {
    pub pid: u32,
    pub stdout: pipe::Receiver,
    pub exit: oneshot::Receiver<Exit>,
    pub queued: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Status(u32),
    Signal(u32),
}

/// The exchange's last word: the response is complete, the program may finish; what it still prints is thrown
/// away if the pipe is given. Dropped without a word: stop the program.
pub type Verdict = Option<pipe::Receiver>;

pub struct Keeper {
    shared: Arc<Shared>,
    work: Work,
    verdict: oneshot::Receiver<Verdict>,
}

impl Keeper {
    pub fn new(shared: Arc<Shared>, work: Work, verdict: oneshot::Receiver<Verdict>) -> Keeper {
        Keeper {
            shared,
            work,
            verdict,
        }
    }

    pub async fn run(mut self, tell: oneshot::Sender<Result<Started, Fault>>) {
        let begun = Instant::now();
        let patience = self.shared.limits.queue_timeout;
        let permit = tokio::select! {
            biased;
            _ = &mut self.verdict => return,
            permit = timeout(patience, turn(self.work.turn, &self.shared)) => permit,
        };
        let Ok(Some(permit)) = permit else {
            let _ = tell.send(Err(Fault::QueueTimedOut));
            return;
        };
        let queued = begun.elapsed();
        let command = self.work.command;
        let about = About {
            shared: self.shared,
            file: self.work.file,
            request: self.work.request,
            timeout: self.work.timeout,
        };
        // Spawning waits for exec, which may read a slow disk: the front's thread has better to do.
        let spawned = tokio::task::spawn_blocking(move || launch::spawn(command)).await;
        let spawned = spawned.unwrap_or_else(|error| Err(io::Error::other(error)));
        match spawned.and_then(|child| Running::attend(about.clone(), child, permit)) {
            Ok((running, mut started)) => {
                started.queued = queued;
                let _ = tell.send(Ok(started));
                running.keep(self.verdict).await;
            }
            Err(error) => {
                about.log(LogLevel::Error, None, &launch::explain(&about.file, &error));
                let _ = tell.send(Err(Fault::CannotRun));
            }
        }
    }
}

/// Waits in line, if the request has to. The place is given back with the answer.
async fn turn(turn: Turn, shared: &Shared) -> Option<OwnedSemaphorePermit> {
    match turn {
        Turn::Now(permit) => Some(permit),
        Turn::Later(_place) => shared.permits.clone().acquire_owned().await.ok(),
    }
}

/// Which program it is.
#[derive(Clone)]
pub struct About {
    shared: Arc<Shared>,
    file: PathBuf,
    request: u64,
    timeout: Duration,
}

impl About {
    fn origin(&self, pid: Option<u32>) -> Origin {
        Origin {
            pid,
            request: Some(self.request),
            worker: None,
        }
    }

    fn log(&self, level: LogLevel, pid: Option<u32>, message: &str) {
        self.shared.log.log(level, self.origin(pid), message);
    }
}

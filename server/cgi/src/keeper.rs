//! Runs one task per program. The task waits for a place, starts the program and reaps it.
//!
//! [`super::Cgi::start`] starts the task. The task tells the [`super::CgiExchange`] when the
//! program runs and when it has ended, and obeys the exchange's verdict. The module [`running`]
//! looks after the process itself.

use super::spawn::Launch;
use super::{launch, Shared, Turn};
use mehari_observe::{LogLevel, Origin};
use mehari_pool::Fault;
use running::Running;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::unix::pipe;
use tokio::sync::{oneshot, OwnedSemaphorePermit};
use tokio::time::timeout;

mod running;

pub use running::signal;

pub struct Work {
    pub launch: Launch,
    pub file: PathBuf,
    /// The origin of lines about the request.
    pub origin: Origin,
    /// The time limit of a program that continues after its response.
    pub timeout: Duration,
    pub turn: Turn,
}

/// The parts of a running program that its exchange needs.
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

/// The exchange's last message. The message says that the response is complete and the program may
/// finish. If the message contains the pipe, further output is dropped. If the sender is dropped,
/// the program is stopped.
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
            permit = timeout(patience, await_turn(self.work.turn, &self.shared)) => permit,
        };
        let Ok(Some(permit)) = permit else {
            let _ = tell.send(Err(Fault::QueueTimedOut));
            return;
        };
        let queued = begun.elapsed();
        let mut launch = self.work.launch;
        let about = RunningProgram {
            shared: self.shared,
            file: self.work.file,
            origin: self.work.origin,
            timeout: self.work.timeout,
        };
        // Spawning waits for exec, which may read a slow disk, so another thread does it.
        let spawned = tokio::task::spawn_blocking(move || launch::spawn(&mut launch)).await;
        let spawned = spawned.unwrap_or_else(|error| Err(io::Error::other(error)));
        match spawned.and_then(|process| Running::supervise(about.clone(), process, permit)) {
            Ok((running, mut started)) => {
                started.queued = queued;
                let _ = tell.send(Ok(started));
                running.run_until_reaped(self.verdict).await;
            }
            Err(error) => {
                about.log(LogLevel::Error, None, &launch::explain(&about.file, &error));
                let _ = tell.send(Err(Fault::CannotRun));
            }
        }
    }
}

/// Waits for a place if necessary. The wait's place in the queue is free afterwards.
async fn await_turn(turn: Turn, shared: &Shared) -> Option<OwnedSemaphorePermit> {
    match turn {
        Turn::Now(permit) => Some(permit),
        Turn::Later(_place) => shared.permits.clone().acquire_owned().await.ok(),
    }
}

/// A running program, as its task knows it.
#[derive(Clone)]
pub struct RunningProgram {
    shared: Arc<Shared>,
    file: PathBuf,
    origin: Origin,
    timeout: Duration,
}

impl RunningProgram {
    fn origin(&self, pid: Option<u32>) -> Origin {
        Origin { pid, ..self.origin }
    }

    fn log(&self, level: LogLevel, pid: Option<u32>, message: &str) {
        self.shared.log.log(level, self.origin(pid), message);
    }
}

//! Looks after a running program: logs its stderr, notices its end, and ends its process group.
//!
//! The leader of the group stays a zombie until the group needs no more signals. The kernel cannot
//! give its process number to another process before that.

use super::{Exit, RunningProgram, Shared, Started, Verdict};
use crate::spawn::Process;
use mehari_net::readiness::register;
use mehari_observe::{Lines, LogLevel};
use rustix::io::retry_on_intr;
use rustix::process::{waitpid, Pid, PidfdFlags, Signal, WaitId, WaitOptions, WaitidOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::{oneshot, OwnedSemaphorePermit};
use tokio::time::{sleep, timeout};

/// The time between TERM and KILL.
const MERCY: Duration = Duration::from_secs(1);
/// How long an ended leader waits for the order to stop its group.
const LINGER: Duration = Duration::from_secs(3);
/// The most bytes that are discarded of a program's output after its response. A program that
/// prints more is stopped.
const MOST_DISCARDED: usize = 64 * 1024 * 1024;
/// The largest number of bytes of a program's stderr in the log.
const MOST_STDERR: usize = 256 * 1024;

pub struct Running {
    about: RunningProgram,
    pid: u32,
    /// A descriptor that is readable once the program has ended.
    end: AsyncFd<OwnedFd>,
    tell_exit: Option<oneshot::Sender<Exit>>,
    permit: Option<OwnedSemaphorePermit>,
    reaped: bool,
    _group: Group,
}

/// Kills the program and its group when the server ends, so that no process is left, not even a
/// zombie.
impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            signal(self.pid, Signal::Kill);
            let _ = reap(self.pid);
        }
    }
}

/// The group's entry in the set of running groups.
struct Group(Arc<Shared>, u32);

impl Drop for Group {
    fn drop(&mut self) {
        self.0.groups().remove(&self.1);
    }
}

impl Running {
    /// Takes over a new process. A process that cannot be watched is killed.
    pub fn supervise(
        about: RunningProgram,
        process: Process,
        permit: OwnedSemaphorePermit,
    ) -> io::Result<(Running, Started)> {
        let pid = process.pid;
        match ends(process) {
            Ok((end, stdout, stderr)) => {
                let (tell_exit, exit) = oneshot::channel();
                about.shared.groups().insert(pid);
                let lines = Lines::new(
                    about.shared.log.clone(),
                    LogLevel::Error,
                    about.origin(Some(pid)),
                );
                tokio::spawn(log_stderr(stderr, lines));
                let running = Running {
                    _group: Group(about.shared.clone(), pid),
                    about,
                    pid,
                    end,
                    tell_exit: Some(tell_exit),
                    permit: Some(permit),
                    reaped: false,
                };
                let started = Started {
                    pid,
                    stdout,
                    exit,
                    queued: Duration::ZERO,
                };
                Ok((running, started))
            }
            Err(error) => {
                signal(pid, Signal::Kill);
                reap(pid)?;
                Err(error)
            }
        }
    }

    /// Runs until the process is reaped.
    pub async fn run_until_reaped(mut self, mut verdict: oneshot::Receiver<Verdict>) {
        let decided = tokio::select! {
            biased;
            decided = &mut verdict => Some(decided),
            () = self.ended() => None,
        };
        match decided {
            None => {
                self.report();
                if let Ok(Err(_)) = timeout(LINGER, verdict).await {
                    self.stop().await;
                }
            }
            Some(Ok(rest)) => self.let_finish(rest).await,
            Some(Err(_)) => self.stop().await,
        }
        // The process has ended, so this call reaps the process without waiting.
        self.reaped = true;
        if let Err(error) = reap(self.pid) {
            self.log(LogLevel::Warn, &format!("cannot reap it: {error}"));
        }
    }

    /// Lets the program continue after its response, but no longer than a request may take.
    async fn let_finish(&mut self, rest: Verdict) {
        let finished = tokio::select! {
            finished = timeout(self.about.timeout, self.ended()) => finished,
            () = discard(rest) => return self.stop().await,
        };
        match finished {
            Ok(()) => self.report(),
            Err(_) => {
                let text = format!(
                    "{} still ran {:?} after its response and was stopped",
                    self.about.file.display(),
                    self.about.timeout
                );
                self.log(LogLevel::Warn, &text);
                self.stop().await;
            }
        }
    }

    /// Sends TERM, then KILL, to all processes of the group.
    async fn stop(&mut self) {
        let leader = self.pid;
        signal(leader, Signal::Term);
        sleep(MERCY).await;
        signal(leader, Signal::Kill);
        self.ended().await;
    }

    async fn ended(&self) {
        if self.end.readable().await.is_err() {
            // An error comes only from a runtime that shuts down.
            std::future::pending::<()>().await;
        }
    }

    /// Reports how the program ended, without reaping it.
    fn report(&mut self) {
        self.permit = None;
        let Some(exit) = self.exit() else { return };
        let file = self.about.file.display();
        match exit {
            Exit::Status(0) => {}
            Exit::Status(status) => {
                let text = format!("{file} exited with status {status}");
                self.log(LogLevel::Info, &text);
            }
            Exit::Signal(number) => {
                let text = format!("{file} was killed by signal {number}");
                self.log(LogLevel::Error, &text);
            }
        }
        if let Some(tell) = self.tell_exit.take() {
            let _ = tell.send(exit);
        }
    }

    fn exit(&self) -> Option<Exit> {
        let options = WaitidOptions::EXITED | WaitidOptions::NOWAIT | WaitidOptions::NOHANG;
        let pid = WaitId::Pid(pid(self.pid)?);
        let status = rustix::process::waitid(pid, options).ok()??;
        let killed = status.terminating_signal().map(Exit::Signal);
        killed.or(status.exit_status().map(Exit::Status))
    }

    fn log(&self, level: LogLevel, message: &str) {
        self.about.log(level, Some(self.pid), message);
    }
}

type Ends = (AsyncFd<OwnedFd>, pipe::Receiver, pipe::Receiver);

fn ends(process: Process) -> io::Result<Ends> {
    let pid = pid(process.pid).ok_or(io::ErrorKind::NotFound)?;
    let end = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    Ok((
        register(end)?,
        pipe::Receiver::from_owned_fd(process.stdout)?,
        pipe::Receiver::from_owned_fd(process.stderr)?,
    ))
}

/// Waits until the process has ended, and takes it from the kernel's table.
fn reap(process: u32) -> io::Result<()> {
    retry_on_intr(|| waitpid(pid(process), WaitOptions::empty()))?;
    Ok(())
}

/// Sends a signal to the whole group. A group that has ended is not an error.
pub fn signal(leader: u32, signal: Signal) {
    if let Some(leader) = pid(leader) {
        let _ = rustix::process::kill_process_group(leader, signal);
    }
}

fn pid(number: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(number).ok()?)
}

/// Logs stderr until the last process has closed the pipe, so that a daemon's messages are logged
/// too.
async fn log_stderr(mut stderr: pipe::Receiver, mut lines: Lines) {
    let mut buffer = vec![0; 4096];
    let (mut left, mut more) = (MOST_STDERR, 0);
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        let logged = count.min(left);
        lines.feed(&buffer[..logged]);
        left -= logged;
        more += count - logged;
    }
    lines.finish();
    if more > 0 {
        lines.feed(
            format!("({more} bytes more of this program's messages are not logged)\n").as_bytes(),
        );
    }
}

/// Reads and drops further output, so that the program does not block and its writes do not fail.
/// The function returns if the output is too long.
async fn discard(rest: Verdict) {
    if let Some(mut stdout) = rest {
        let mut buffer = vec![0; 16 * 1024];
        let mut left = MOST_DISCARDED;
        while let Ok(count @ 1..) = stdout.read(&mut buffer).await {
            left = left.saturating_sub(count);
            if left == 0 {
                return;
            }
        }
    }
    std::future::pending().await
}

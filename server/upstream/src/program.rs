//! Starts FastCGI programs, and the console's process, and restarts them: several processes share
//! one listening socket.
//!
//! The server owns the socket, which outlives every process, so connections wait while a process
//! restarts. While every process fails at its start, the server closes the connections at once, so
//! no request waits for the program. All processes end with the server, even if the server is
//! killed.

use crate::batch;
use crate::report::Report;
use mehari_config::{LogLevel, Program};
use rustix::event::{PollFd, PollFlags};
use rustix::net::{socketpair, AddressFamily, SocketFlags, SocketType};
use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::task::{spawn_local, JoinHandle};
use tokio::time::Instant;

/// A process that ends within this time has failed at its start.
const SOON: Duration = Duration::from_secs(1);
/// The pause after a failed start. Each further failure doubles the pause.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How often the server looks for requests that wait for a program whose starts fail.
const TICK: Duration = Duration::from_millis(20);
/// How long the server waits for the rest of a process's errors after the process has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// The longest line of a program's errors in bytes.
const LONGEST_LINE: u64 = 8 * 1024;
/// Makes the kernel kill a program when its parent dies (util-linux).
const TIED: &str = "/usr/bin/setpriv";

/// What the server does when a process ends.
#[derive(Clone)]
pub enum Restart {
    /// The server starts the process again, after a pause.
    Always,
    /// The server starts the process again if the function says that a response has come since the
    /// given time. Otherwise the process is not started again. The socket closes with the last
    /// process, so no request waits for it.
    WhileItWorks(Rc<dyn Fn(Instant) -> bool>),
}

impl Restart {
    /// Returns whether the process should start again. The function asks twice, because the
    /// process's last output may still be unread when its end is noticed.
    async fn is_wanted(&self, since: Instant) -> bool {
        match self {
            Restart::Always => true,
            Restart::WhileItWorks(works) => {
                if !works(since) {
                    tokio::time::sleep(FIRST_PAUSE).await;
                }
                works(since)
            }
        }
    }
}

/// Takes the server's end of the channel on which a program asks it ([`Program::asks_server`]).
pub type Answerer = Rc<dyn Fn(OwnedFd)>;

/// The processes of one program. Dropping the fleet ends them.
pub struct Fleet {
    pub program: Program,
    pub socket: PathBuf,
    tasks: Vec<JoinHandle<()>>,
    _folder: tempfile::TempDir,
}

impl Fleet {
    /// Starts the processes. The call must be made inside a `LocalSet`, on the thread that lives as
    /// long as the server.
    pub fn start(
        program: &Program,
        report: &Report,
        restart: Restart,
        answerer: Option<Answerer>,
    ) -> io::Result<Fleet> {
        rustix::fs::access(&program.file, rustix::fs::Access::EXEC_OK)?;
        let folder = tempfile::Builder::new().prefix("mehari-fcgi-").tempdir()?;
        let socket = folder.path().join("socket");
        let team = Rc::new(Processes {
            listener: OwnedFd::from(UnixListener::bind(&socket)?),
            running: Cell::new(0),
            answerer: answerer.filter(|_| program.asks_server),
        });
        let keep = |_| {
            let (program, team) = (program.clone(), team.clone());
            spawn_local(supervise(program, team, report.clone(), restart.clone()))
        };
        Ok(Fleet {
            program: program.clone(),
            socket,
            tasks: (0..program.processes).map(keep).collect(),
            _folder: folder,
        })
    }

    /// Returns whether no process runs and none will be started.
    pub fn is_over(&self) -> bool {
        self.tasks.iter().all(JoinHandle::is_finished)
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.tasks.iter().for_each(|task| task.abort());
    }
}

/// What the processes of one program share.
struct Processes {
    listener: OwnedFd,
    /// The number of running processes.
    running: Cell<usize>,
    /// `None`: the program asks nothing.
    answerer: Option<Answerer>,
}

impl Processes {
    /// Waits before a process that failed is started again. While no process runs, closes the
    /// connections that come.
    async fn pause(&self, pause: Duration) {
        let end = Instant::now() + pause;
        while Instant::now() < end {
            if self.running.get() == 0 {
                self.refuse_waiting();
            }
            tokio::time::sleep(TICK.min(pause)).await;
        }
    }

    /// Closes the connections that wait for a process. The socket is a blocking one, because the
    /// processes share it, so the function asks before each `accept`.
    fn refuse_waiting(&self) {
        let mut wanted = [PollFd::new(&self.listener, PollFlags::IN)];
        while matches!(rustix::event::poll(&mut wanted, 0), Ok(1)) {
            if rustix::net::accept(&self.listener).is_err() {
                return;
            }
        }
    }
}

/// Keeps one process running.
async fn supervise(program: Program, team: Rc<Processes>, report: Report, restart: Restart) {
    let mut pause = FIRST_PAUSE;
    loop {
        let began = Instant::now();
        let ended = match spawn(&program, &team) {
            Ok((child, stderr)) => {
                team.running.set(team.running.get() + 1);
                let ended = log_errors_until_exit(child, stderr, &program.file, &report).await;
                team.running.set(team.running.get() - 1);
                ended
            }
            Err(error) => format!("cannot be started: {error}"),
        };
        let name = program.file.display();
        if !restart.is_wanted(began).await {
            let text = format!("{name} {ended} before it answered a request; not started again");
            (report)(LogLevel::Error, &text);
            return;
        }
        if began.elapsed() >= SOON || matches!(restart, Restart::WhileItWorks(_)) {
            (report)(LogLevel::Info, &format!("{name} {ended}; started again"));
            pause = FIRST_PAUSE;
            continue;
        }
        let text = format!("{name} {ended}; started again in {pause:?}");
        (report)(LogLevel::Error, &text);
        team.pause(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Makes the channel of a process that asks the server: the server's end, which does not block, and
/// the process's end.
fn channel() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((ours, theirs))
}

/// Starts a process. A FastCGI program expects its listening socket as standard input.
fn spawn(program: &Program, team: &Processes) -> io::Result<(Child, Option<ChildStderr>)> {
    let (answered, stdout) = match &team.answerer {
        Some(answerer) => {
            let (ours, theirs) = channel()?;
            (Some((answerer, ours)), Stdio::from(theirs))
        }
        None => (None, Stdio::null()),
    };
    let mut command = if Path::new(TIED).is_file() {
        let mut command = Command::new(TIED);
        command
            .args(["--pdeathsig", "KILL", "--"])
            .arg(&program.file)
            .args(&program.arguments);
        command
    } else {
        let mut command = Command::new(&program.file);
        command.args(&program.arguments);
        command
    };
    command.env_clear();
    for name in ["PATH", "TZ", "LANG"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    // This server manages php-cgi's processes. php-cgi therefore needs no children, and need not
    // end after 500 requests.
    command.env("PHP_FCGI_MAX_REQUESTS", "10000");
    command.envs(program.environment.iter().cloned());
    if let Some(folder) = &program.folder {
        command.current_dir(folder);
    }
    let mut child = command
        .stdin(Stdio::from(team.listener.try_clone()?))
        .stdout(stdout)
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    if let Some(process) = child.id() {
        batch::schedule(process);
    }
    if let Some((answerer, ours)) = answered {
        answerer(ours);
    }
    let stderr = child.stderr.take();
    Ok((child, stderr))
}

/// Logs the errors of the process and returns how it ended.
async fn log_errors_until_exit(
    mut child: Child,
    stderr: Option<ChildStderr>,
    file: &Path,
    report: &Report,
) -> String {
    let pid = child.id().unwrap_or_default();
    let mut told = pin!(log_errors(stderr, pid, file, report));
    let mut is_silent = false;
    loop {
        tokio::select! {
            () = &mut told, if !is_silent => is_silent = true,
            ended = child.wait() => {
                if !is_silent {
                    // The process's children may hold the other end of the pipe for long.
                    let _ = tokio::time::timeout(LAST_WORDS, &mut told).await;
                }
                return match ended {
                    Ok(status) => format!("[{pid}] ended ({status})"),
                    Err(error) => format!("[{pid}] cannot be watched: {error}"),
                };
            }
        }
    }
}

/// Logs each line of a process's errors until no process can write any more.
async fn log_errors(stderr: Option<ChildStderr>, pid: u32, file: &Path, report: &Report) {
    let Some(stderr) = stderr else { return };
    let mut lines = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = (&mut lines).take(LONGEST_LINE);
        let read = bounded.read_until(b'\n', &mut line).await;
        if !matches!(read, Ok(count) if count > 0) {
            return;
        }
        let text = String::from_utf8_lossy(line.trim_ascii());
        (report)(
            LogLevel::Error,
            &format!("{} [{pid}]: {text}", file.display()),
        );
    }
}

//! Replaces the running program without losing a request: `USR2` and `mehari upgrade`.
//!
//! The server starts the program again from the path that it was started from, where a new file
//! may lie, and hands over its listening sockets. The new process loads the configuration and Perl,
//! and then says that it is ready. Only then does this process stop to accept. It finishes its
//! requests and ends. If the new process does not start, this process goes on
//! (`predecessor.rs` has the other side).
#![allow(unsafe_code)] // descriptors that one child inherits

use super::inherited::{Opener, CHANNEL, UPGRADE};
use super::journal::Logs;
use super::keeper::Keeper;
use super::reload::Reloader;
use super::service_manager::Notify;
use mehari_front::{Listener, Stop};
use rustix::process::{Pid, Signal};
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream as StdStream;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::sync::watch::Sender;

/// The longest time that the new process may take to load. `mehari upgrade` waits no longer, too.
const PATIENCE: Duration = Duration::from_secs(290);
/// How long a process that is ready may take until it serves.
const TAKE_OVER: Duration = Duration::from_secs(10);
/// What the new process says when it serves.
const SERVING: &[u8; 8] = b"serving\n";
const STOPPING: &str = "the server is stopping";
/// The time between two messages about what this process still has.
const TELL: Duration = Duration::from_millis(250);

/// The program as it was started. It is found at the start, because the current folder and PATH may
/// change later.
#[derive(Debug, Clone, Default)]
pub struct Program {
    path: PathBuf,
    arguments: Vec<OsString>,
}

impl Program {
    /// Takes the arguments of `mehari serve`.
    pub fn started_with(arguments: &[OsString]) -> Program {
        let path = path();
        // A link with the name of the command needs no command.
        let is_command = path.file_name().is_some_and(|name| name == "serve");
        let word = (!is_command).then(|| OsString::from("serve"));
        Program {
            path,
            arguments: word.into_iter().chain(arguments.iter().cloned()).collect(),
        }
    }
}

impl Program {
    /// Returns the path and the arguments.
    pub fn words(&self) -> impl Iterator<Item = &OsStr> {
        let arguments = self.arguments.iter().map(OsString::as_os_str);
        std::iter::once(self.path.as_os_str()).chain(arguments)
    }
}

/// Returns the path that this program was started from. The last part may be a link that leads to
/// another file after an installation, so the link is not resolved.
pub fn path() -> PathBuf {
    let called = std::env::args_os().next().map(PathBuf::from);
    let called = called.filter(|path| !path.as_os_str().is_empty());
    let found = called.and_then(|called| {
        if called.as_os_str().as_encoded_bytes().contains(&b'/') {
            return std::path::absolute(called).ok();
        }
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let mut all = std::env::split_paths(&folders).map(|folder| folder.join(&called));
        all.find(|path| path.is_file())
    });
    found
        .or_else(|| std::env::current_exe().ok())
        .unwrap_or_else(|| PathBuf::from("mehari"))
}

/// A copy of a listening socket, for the new process.
pub struct Handed {
    socket: OwnedFd,
    opener: Opener,
}

impl Handed {
    pub fn of(listener: &Listener, opener: Opener) -> io::Result<Handed> {
        let socket = match listener {
            Listener::Tcp(socket, _) => socket.as_fd().try_clone_to_owned()?,
            Listener::Unix(socket) => socket.as_fd().try_clone_to_owned()?,
        };
        Ok(Handed { socket, opener })
    }
}

/// What an upgrade needs of the running server.
pub struct Upgrader {
    pub program: Program,
    /// Copies of the listening sockets. Empty: the server stops or has been replaced.
    pub sockets: RefCell<Vec<Handed>>,
    pub reloader: Rc<Reloader>,
    pub notify: Rc<Notify>,
    pub logs: Rc<Logs>,
    pub stop: Sender<Stop>,
    /// The process that starts the new one if the server has become another user.
    pub keeper: Option<Rc<Keeper>>,
}

impl Upgrader {
    /// Starts an upgrade and returns at once.
    pub fn ask(self: &Rc<Self>, who: &'static str) {
        let this = self.clone();
        tokio::task::spawn_local(async move {
            let _ = this.upgrade(who).await;
        });
    }

    /// Returns what has happened, or the reason why this process goes on serving.
    pub async fn upgrade(self: &Rc<Self>, who: &str) -> Result<String, String> {
        let _turn = self.reloader.turn().await;
        if let Some(reason) = self.obstacle() {
            return Err(self.refuse(who, reason));
        }
        self.notify.reloading();
        let outcome = match self.start_successor().await {
            Ok(successor) => self.leave(who, successor).await,
            Err(reason) => Err(reason),
        };
        match outcome {
            Ok(text) => Ok(text),
            Err(reason) => {
                self.notify.ready();
                Err(self.refuse(who, &reason))
            }
        }
    }

    /// Logs why this process goes on. Returns the same text.
    fn refuse(&self, who: &str, reason: &str) -> String {
        let pid = std::process::id();
        let text = format!("{reason}; process {pid} goes on");
        for line in text.lines() {
            self.logs.error.error(format_args!("{who}: {line}"));
        }
        text
    }

    fn obstacle(&self) -> Option<&'static str> {
        match *self.stop.borrow() {
            Stop::No => {}
            Stop::Replaced => return Some("another process has replaced this one"),
            Stop::Gracefully | Stop::Now => return Some(STOPPING),
        }
        if std::process::id() == 1 {
            return Some("process 1 cannot be replaced, because its end ends the container");
        }
        None
    }

    /// Starts the program and waits until it says that it is ready.
    async fn start_successor(&self) -> Result<Successor, String> {
        let failed = |error: io::Error| format!("{}: {error}", self.program.path.display());
        let (ours, theirs) = StdStream::pair().map_err(failed)?;
        ours.set_nonblocking(true).map_err(failed)?;
        let mut channel = BufReader::new(UnixStream::from_std(ours).map_err(failed)?);
        let (pid, mut starting) = self.start_program(&theirs).await?;
        drop(theirs);
        self.logs
            .error
            .notice(format_args!("an upgrade: process {pid} starts"));
        let mut line = String::new();
        let mut stop = self.stop.subscribe();
        let heard = tokio::select! {
            heard = channel.read_line(&mut line) => heard.map_err(failed)?,
            () = tokio::time::sleep(PATIENCE) => {
                starting.kill();
                return Err(format!("process {pid} was not ready in {} s", PATIENCE.as_secs()))
            }
            _ = stop.wait_for(|stop| *stop != Stop::No) => return Err(STOPPING.into()),
        };
        match line.trim_end().split_once(' ') {
            None if line == "ready\n" => {
                starting.0 = None;
                let channel = channel.into_inner();
                Ok(Successor { pid, channel })
            }
            Some(("failed", reason)) => {
                starting.end().await;
                Err(reason.replace('\t', "\n"))
            }
            _ if heard > 0 => {
                let path = self.program.path.display();
                Err(format!(
                    "{path} is another program; expected one that can upgrade"
                ))
            }
            _ => {
                let path = self.program.path.display();
                let how = starting.end().await;
                Err(format!("{path} ended before it was ready ({how})"))
            }
        }
    }

    /// Starts the program, by the keeper if there is one.
    async fn start_program(&self, channel: &StdStream) -> Result<(u32, Starting), String> {
        let Some(keeper) = &self.keeper else {
            let failed = |error: io::Error| format!("{}: {error}", self.program.path.display());
            let child = self.command(channel).spawn().map_err(failed)?;
            let pid = child.id().unwrap_or_default();
            return Ok((pid, Starting(Some(Started::Own(child)))));
        };
        let handed: Vec<(&str, OwnedFd)> = {
            let sockets = self.sockets.borrow();
            let copies = sockets.iter().map(|handed| {
                let copy = handed.socket.try_clone();
                Ok((handed.opener.word(), copy?))
            });
            let copies = copies.collect::<io::Result<_>>();
            copies.map_err(|error| format!("a copy of a listening socket: {error}"))?
        };
        let kinds: Vec<&str> = handed
            .iter()
            .map(|(kind, _)| *kind)
            .chain([CHANNEL])
            .collect();
        let sockets = handed.iter().map(|(_, socket)| socket.as_fd());
        let sockets: Vec<_> = sockets.chain([channel.as_fd()]).collect();
        let pid = keeper.start_program(&kinds, &sockets).await?;
        Ok((pid, Starting(Some(Started::ByKeeper(keeper.clone())))))
    }

    fn command(&self, channel: &StdStream) -> Command {
        let sockets = self.sockets.borrow();
        let all = sockets
            .iter()
            .map(|handed| (handed.opener.word(), handed.socket.as_raw_fd()))
            .chain([(CHANNEL, channel.as_raw_fd())]);
        let (words, numbers): (Vec<String>, Vec<RawFd>) = all
            .map(|(word, number)| (format!("{word}={number}"), number))
            .unzip();
        let mut command = Command::new(&self.program.path);
        command
            .args(&self.program.arguments)
            .env(UPGRADE, words.join(";"))
            .envs(self.notify.variables().iter().cloned());
        // SAFETY: between fork and exec the closure only calls fcntl, which is safe there
        // (signal-safety(7)). The descriptors stay open, because their owners live until then.
        unsafe {
            command.pre_exec(move || {
                numbers
                    .iter()
                    .try_for_each(|number| keep_over_exec(*number))
            })
        };
        command
    }

    /// Tells the new process to serve. When it serves and answers the control socket, ends this one
    /// as soon as its requests are done.
    async fn leave(self: &Rc<Self>, who: &str, to: Successor) -> Result<String, String> {
        let Successor { pid, mut channel } = to;
        self.notify.replaced_by(pid);
        if let Err(error) = hand_over(&mut channel).await {
            return Err(format!("process {pid} has ended ({error})"));
        }
        if let Some(keeper) = &self.keeper {
            keeper.tell("replaced");
        }
        self.reloader.retire(pid);
        self.sockets.borrow_mut().clear();
        let _ = self.stop.send(Stop::Replaced);
        let text = format!(
            "process {pid} serves; process {} finishes its requests",
            std::process::id()
        );
        self.logs.error.notice(format_args!("{who}: {text}"));
        tokio::task::spawn_local(tell(self.reloader.clone(), channel));
        Ok(text)
    }
}

/// Gives the new process the word to serve, and waits until it serves.
async fn hand_over(channel: &mut UnixStream) -> io::Result<()> {
    channel.write_all(b"go\n").await?;
    let mut answer = [0; SERVING.len()];
    let heard = tokio::time::timeout(TAKE_OVER, channel.read_exact(&mut answer)).await;
    match heard.map_err(io::Error::from)? {
        Ok(_) if &answer == SERVING => Ok(()),
        Ok(_) => Err(io::Error::other("it speaks otherwise")),
        Err(error) => Err(error),
    }
}

/// The new process, which waits for the word to serve.
struct Successor {
    pid: u32,
    channel: UnixStream,
}

/// The new process before it is ready. Dropping the value ends the process.
struct Starting(Option<Started>);

enum Started {
    Own(Child),
    /// The keeper has started the process.
    ByKeeper(Rc<Keeper>),
}

impl Starting {
    /// Waits for the end of the process. Returns how it ended.
    async fn end(&mut self) -> String {
        match &mut self.0 {
            Some(Started::Own(child)) => match child.wait().await {
                Ok(status) => status.to_string(),
                Err(error) => error.to_string(),
            },
            Some(Started::ByKeeper(keeper)) => keeper.program_end().await,
            None => String::new(),
        }
    }

    fn kill(&mut self) {
        match &mut self.0 {
            Some(Started::Own(child)) => drop(child.start_kill()),
            Some(Started::ByKeeper(keeper)) => keeper.tell("kill"),
            None => {}
        }
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        match &self.0 {
            Some(Started::Own(child)) => {
                let pid = child.id().and_then(|id| Pid::from_raw(id as i32));
                if let Some(pid) = pid {
                    let _ = rustix::process::kill_process(pid, Signal::Term);
                }
            }
            Some(Started::ByKeeper(keeper)) => keeper.tell("end"),
            None => {}
        }
    }
}

/// Tells the new process what this process still has, until this process ends.
async fn tell(reloader: Rc<Reloader>, mut channel: UnixStream) {
    loop {
        let front = reloader.front_stats();
        let line = format!(
            "left {} {}\n",
            front.open_connections, front.active_requests
        );
        if channel.write_all(line.as_bytes()).await.is_err() {
            return;
        }
        tokio::time::sleep(TELL).await;
    }
}

fn keep_over_exec(number: RawFd) -> io::Result<()> {
    // SAFETY: the call changes only the descriptor's flags.
    match unsafe { libc::fcntl(number, libc::F_SETFD, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_is_named_by_an_absolute_path_that_exists() {
        let path = path();
        assert!(path.is_absolute() && path.is_file(), "{}", path.display());
    }
}

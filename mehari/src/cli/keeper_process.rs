//! `mehari keeper-process`: keeps root's rights while the server runs as another user. Only the
//! server starts this command (`serve/keeper.rs` has the other side).
//!
//! The server orders in lines over the standard input, a socket. All that an order can name was
//! fixed at the start: the names of files, the program and its arguments. What a script makes of
//! the server can therefore neither remove another file nor start another program.
//!
//! order | effect | answer
//! `name` | the new control socket gets its name | `done` or `failed REASON`
//! `start KIND;KIND...` with sockets | the program starts again as root | `started PID` or `failed`
//! `log NUMBER` with a socket | opens a log again and sends the file | `done` or `failed REASON`
//! `wait` | waits for that process | `ended HOW`
//! `end`, `kill` | ends that process | none
//! `replaced` | another server goes on to use the temporary file | none
//!
//! When the server has ended, however it ended, the process removes what the server has left.

mod logs;

use super::serve::inherited::{Opener, CHANNEL, UPGRADE};
use super::serve::remains::{identity_of_file, remove_pid_file};
use logs::KeptLogs;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::{recvmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use rustix::process::{getpgid, getppid, kill_process, Pid, Signal};
use std::ffi::OsString;
use std::io::{self, IoSliceMut, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};

/// The most descriptors of an order, which is the kernel's limit (unix(7)).
const SOCKETS_MOST: usize = 253;
/// The longest order in bytes.
const LONGEST: usize = 64 * 1024;

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let input = io::stdin();
    let is_socket = rustix::net::sockopt::get_socket_domain(&input).is_ok();
    let keeper = Keeper::of(arguments).filter(|_| is_socket);
    let Some(mut keeper) = keeper else {
        eprintln!("mehari keeper-process: the server starts this itself; expected a socket");
        return ExitCode::from(2);
    };
    let socket = input.as_fd().try_clone_to_owned().map(UnixStream::from);
    let served = socket.and_then(|socket| keeper.serve(&socket));
    keeper.remove_remains();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mehari keeper-process: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Keeper {
    server: Option<Pid>,
    /// The file of `PidFile`. Empty: there is none.
    pid_file: PathBuf,
    /// The control socket's name, the name under which it was bound, and its identity.
    control: PathBuf,
    bound: PathBuf,
    identity: Option<(u64, u64)>,
    /// Another file to remove. Empty: there is none.
    temporary: PathBuf,
    logs: KeptLogs,
    program: OsString,
    arguments: Vec<OsString>,
    started: Option<Child>,
    is_replaced: bool,
}

impl Keeper {
    /// Takes the arguments: the pid file, the control socket's two names, the temporary file, the
    /// number of logs, the logs, the program and its arguments.
    fn of(arguments: Vec<OsString>) -> Option<Keeper> {
        let mut words = arguments.into_iter();
        let mut next = || words.next();
        let (pid_file, control, bound) = (next()?.into(), next()?.into(), next()?);
        let (temporary, logs) = (next()?.into(), next()?.to_str()?.parse().ok()?);
        let logs = KeptLogs::of(words.by_ref().take(logs));
        let program = words.next()?;
        let bound = PathBuf::from(bound);
        Some(Keeper {
            server: getppid(),
            pid_file,
            control,
            identity: identity_of_file(&bound).ok(),
            bound,
            temporary,
            logs,
            program,
            arguments: words.collect(),
            started: None,
            is_replaced: false,
        })
    }

    /// Carries out orders until the server ends.
    fn serve(&mut self, mut socket: &UnixStream) -> io::Result<()> {
        let (mut text, mut sockets) = (Vec::new(), Vec::new());
        loop {
            while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = text.drain(..=end).collect();
                let order = String::from_utf8_lossy(&line).into_owned();
                let answer = self.carry_out(order.trim_end(), &mut sockets);
                if let Some(answer) = answer {
                    socket.write_all(format!("{answer}\n").as_bytes())?;
                }
            }
            if text.len() > LONGEST || !receive(socket, &mut text, &mut sockets)? {
                return Ok(());
            }
        }
    }

    fn carry_out(&mut self, order: &str, sockets: &mut Vec<OwnedFd>) -> Option<String> {
        match order.split_once(' ').unwrap_or((order, "")) {
            ("name", "") => Some(match std::fs::rename(&self.bound, &self.control) {
                Ok(()) => "done".into(),
                Err(error) => format!(
                    "failed the control socket {}: {error}",
                    self.control.display()
                ),
            }),
            ("start", kinds) => Some(match self.start(kinds, std::mem::take(sockets)) {
                Ok(pid) => format!("started {pid}"),
                Err(error) => format!("failed {error}"),
            }),
            ("log", number) => Some(match self.send_log(number, std::mem::take(sockets)) {
                Ok(()) => "done".into(),
                Err(error) => format!("failed {error}"),
            }),
            ("wait", "") => Some(self.wait()),
            ("end", "") => self.signal(Signal::Term),
            ("kill", "") => self.signal(Signal::Kill),
            ("replaced", "") => {
                self.is_replaced = true;
                None
            }
            _ => Some("failed no such order".into()),
        }
    }

    fn send_log(&self, number: &str, sockets: Vec<OwnedFd>) -> io::Result<()> {
        let to = sockets.first().ok_or(io::ErrorKind::InvalidInput)?;
        self.logs.send(number, to)
    }

    /// Starts the program with the sockets, each with its kind. The sockets were received without
    /// the flag that closes them, so the program inherits them, and nothing else does.
    fn start(&mut self, kinds: &str, sockets: Vec<OwnedFd>) -> io::Result<u32> {
        let kinds: Vec<&str> = kinds.split(';').collect();
        let is_known = |kind: &&str| *kind == CHANNEL || Opener::named(kind).is_some();
        if kinds.len() != sockets.len() || !kinds.iter().all(is_known) {
            return Err(io::Error::other(
                "an order with other sockets than it names",
            ));
        }
        let pairs = kinds.iter().zip(&sockets);
        let words: Vec<String> = pairs
            .map(|(kind, socket)| format!("{kind}={}", socket.as_raw_fd()))
            .collect();
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env(UPGRADE, words.join(";"))
            .stdin(Stdio::null());
        // The terminal's signals reach the new server as they reach the old one.
        if let Some(group) = self.server.and_then(|server| getpgid(Some(server)).ok()) {
            command.process_group(group.as_raw_nonzero().get());
        }
        let child = command.spawn()?;
        let pid = child.id();
        self.started = Some(child);
        Ok(pid)
    }

    fn wait(&mut self) -> String {
        match self.started.take().map(|mut child| child.wait()) {
            Some(Ok(status)) => format!("ended {status}"),
            Some(Err(error)) => format!("ended {error}"),
            None => "ended unknown".into(),
        }
    }

    fn signal(&mut self, signal: Signal) -> Option<String> {
        let child = self.started.as_mut()?;
        if let Some(pid) = Pid::from_raw(child.id() as i32) {
            let _ = kill_process(pid, signal);
        }
        if signal == Signal::Kill {
            let _ = child.wait();
            self.started = None;
        }
        None
    }

    fn remove_remains(&self) {
        let has = |path: &PathBuf| !path.as_os_str().is_empty();
        if has(&self.pid_file) {
            let server = self.server.map(|pid| pid.as_raw_nonzero().get() as u32);
            remove_pid_file(&self.pid_file, server);
        }
        for path in [&self.bound, &self.control] {
            let now = identity_of_file(path).ok();
            if now.is_some() && now == self.identity {
                let _ = std::fs::remove_file(path);
            }
        }
        if has(&self.temporary) && !self.is_replaced {
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

/// Receives a part of an order and its descriptors. Returns false at the end of the input.
fn receive(
    socket: &UnixStream,
    text: &mut Vec<u8>,
    sockets: &mut Vec<OwnedFd>,
) -> io::Result<bool> {
    let mut bytes = [0u8; 4096];
    let mut space = vec![0u8; rustix::cmsg_space!(ScmRights(SOCKETS_MOST))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let parts = &mut [IoSliceMut::new(&mut bytes)];
    let got = match recvmsg(socket, parts, &mut ancillary, RecvFlags::empty()) {
        Ok(received) => received.bytes,
        Err(rustix::io::Errno::INTR) => return Ok(true),
        Err(error) => return Err(error.into()),
    };
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(files) = message {
            sockets.extend(files);
        }
    }
    text.extend_from_slice(&bytes[..got]);
    Ok(got > 0)
}

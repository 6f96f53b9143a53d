//! The server's side of the keeper: the process that keeps root's rights when the server becomes
//! another user (`keeper_process.rs`).
//!
//! The keeper removes the pid file and the control socket at the server's end, even from folders in
//! which the server may no longer write. In an upgrade it gives the control socket its name, and
//! starts the program again as root, so that the new process can read keys and bind ports that only
//! root may use. After a rotation it opens the logs in folders of root.

use super::upgrade::Program;
use rustix::fs::{open, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{sendmsg, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use rustix::net::{socketpair, AddressFamily, SocketFlags, SocketType};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::Mutex;

/// How long the keeper may take for an order.
const PATIENCE: Duration = Duration::from_secs(20);
/// The most sockets of an order, which is the kernel's limit (unix(7)).
const SOCKETS_MOST: usize = 253;

/// The files that the keeper removes at the server's end.
pub struct KeptFiles<'a> {
    pub pid_file: Option<&'a Path>,
    /// The control socket's name, and the name under which it is bound.
    pub control: &'a Path,
    pub bound: &'a Path,
    pub temporary: Option<&'a Path>,
    /// The logs, which the keeper opens again.
    pub logs: &'a [PathBuf],
}

pub struct Keeper {
    process: RefCell<Child>,
    /// `None`: the server ends. The reader is in use while an order waits for its answer.
    socket: RefCell<Option<StdStream>>,
    answers: Mutex<Option<BufReader<UnixStream>>>,
    logs: Vec<PathBuf>,
}

impl Keeper {
    /// Starts the process, with the rights of the present user.
    pub fn start(
        kept: &KeptFiles<'_>,
        program: &Program,
        variables: &[(&'static str, String)],
    ) -> io::Result<Keeper> {
        let (ours, theirs) = StdStream::pair()?;
        // The process has its own process group, so the terminal's signals do not reach it.
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("keeper-process");
        for path in [
            kept.pid_file,
            Some(kept.control),
            Some(kept.bound),
            kept.temporary,
        ] {
            command.arg(match path {
                Some(path) => std::path::absolute(path)?.into_os_string(),
                None => OsString::new(),
            });
        }
        let logs: Vec<_> = kept
            .logs
            .iter()
            .map(std::path::absolute)
            .collect::<Result<_, _>>()?;
        let process = command
            .arg(logs.len().to_string())
            .args(logs)
            .args(program.words())
            .envs(variables.iter().cloned())
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn()?;
        ours.set_nonblocking(true)?;
        let answers = UnixStream::from_std(ours.try_clone()?)?;
        Ok(Keeper {
            process: RefCell::new(process),
            socket: RefCell::new(Some(ours)),
            answers: Mutex::new(Some(BufReader::new(answers))),
            logs: kept.logs.to_vec(),
        })
    }

    /// Gives the control socket its name.
    pub async fn name_control(&self) -> Result<(), String> {
        match self.order("name", &[]).await?.split_once(' ') {
            Some((_, reason)) => Err(reason.to_owned()),
            None => Ok(()),
        }
    }

    /// Opens the logs that the server's user may not open. `complain` gets the reason if a log
    /// cannot be opened.
    pub async fn open_logs(&self, complain: impl Fn(String)) -> BTreeMap<PathBuf, File> {
        let mut opened = BTreeMap::new();
        for (number, path) in self.logs.iter().enumerate() {
            if !is_denied(path) {
                continue;
            }
            match self.open_log(number).await {
                Ok(file) => drop(opened.insert(path.clone(), file)),
                Err(reason) => complain(format!("{} as root: {reason}", path.display())),
            }
        }
        opened
    }

    async fn open_log(&self, number: usize) -> Result<File, String> {
        let pair = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        );
        let (ours, theirs) = pair.map_err(|error| error.to_string())?;
        let order = format!("log {number}");
        if let Some((_, reason)) = self.order(&order, &[theirs.as_fd()]).await?.split_once(' ') {
            return Err(reason.to_owned());
        }
        let file = mehari_wire::receive_file(&ours, number as u64);
        file.map(File::from).map_err(|error| error.to_string())
    }

    /// Starts the program with these sockets. Returns the number of its process.
    pub async fn start_program(
        &self,
        kinds: &[&str],
        sockets: &[BorrowedFd<'_>],
    ) -> Result<u32, String> {
        let answer = self
            .order(&format!("start {}", kinds.join(";")), sockets)
            .await?;
        match answer.split_once(' ') {
            Some(("started", number)) => number.parse().map_err(|_| answer.clone()),
            Some((_, reason)) => Err(reason.to_owned()),
            None => Err(answer),
        }
    }

    /// Waits for the end of the started process. Returns how it ended.
    pub async fn program_end(&self) -> String {
        let answer = self
            .order("wait", &[])
            .await
            .unwrap_or_else(|reason| reason);
        answer.strip_prefix("ended ").unwrap_or(&answer).to_owned()
    }

    /// Gives an order that has no answer: `end`, `kill` or `replaced`. Without a keeper there is
    /// nothing to end.
    pub fn tell(&self, order: &str) {
        let _ = self.send(order, &[]);
    }

    async fn order(&self, order: &str, sockets: &[BorrowedFd<'_>]) -> Result<String, String> {
        let gone =
            || "the process that keeps root's rights has ended; expected a restart".to_owned();
        let mut answers = self.answers.lock().await;
        let Some(answers) = answers.as_mut() else {
            return Err(gone());
        };
        self.send(order, sockets).map_err(|_| gone())?;
        let mut line = String::new();
        match tokio::time::timeout(PATIENCE, answers.read_line(&mut line)).await {
            Ok(Ok(length)) if length > 0 => Ok(line.trim_end().to_owned()),
            Ok(_) => Err(gone()),
            Err(_) => Err("the process that keeps root's rights does not answer".into()),
        }
    }

    fn send(&self, order: &str, sockets: &[BorrowedFd<'_>]) -> io::Result<()> {
        let socket = self.socket.borrow();
        let socket = socket.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let mut space = vec![0u8; rustix::cmsg_space!(ScmRights(SOCKETS_MOST))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let fits = sockets.is_empty() || ancillary.push(SendAncillaryMessage::ScmRights(sockets));
        if !fits {
            let text = format!("{} sockets; expected at most {SOCKETS_MOST}", sockets.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let line = format!("{order}\n");
        let sent = sendmsg(
            socket,
            &[IoSlice::new(line.as_bytes())],
            &mut ancillary,
            SendFlags::NOSIGNAL,
        )?;
        if sent == line.len() {
            Ok(())
        } else {
            Err(io::ErrorKind::WriteZero.into())
        }
    }
}

/// Whether this user may not append to the file. The file may be a pipe, for whose reader nobody
/// waits here.
fn is_denied(path: &Path) -> bool {
    let flags =
        OFlags::APPEND | OFlags::CREATE | OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    matches!(
        open(path, flags, Mode::from_raw_mode(0o666)),
        Err(Errno::ACCESS)
    )
}

/// Lets the keeper remove the files, and waits until it has.
impl Drop for Keeper {
    fn drop(&mut self) {
        self.socket.take();
        *self.answers.get_mut() = None;
        let _ = self.process.get_mut().wait();
    }
}

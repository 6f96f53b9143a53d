//! Reads the tap: a pipe that carries the rest of a response when the script's child processes may
//! write to the response too.
//!
//! The worker opens the tap before the first child starts (`tap.c` in `perl/xs`).
//! [`WorkerExchange`](crate::WorkerExchange) reads the pipe as the client takes the body, so the
//! writers wait for a slow client. The response ends when no process holds the pipe's writing end.
//! The tap waits for children that outlive the script up to the request's time limit, as for CGI
//! programs.

use crate::call::{Fault, Head};
use crate::script_head::{self, Form, Malformed, ScriptHead};
use crate::table_marks::HeadTable;
use mehari_observe::{ErrorLog, LogLevel, Origin};
use rustix::fd::{AsFd, OwnedFd};
use std::ffi::OsStr;
use std::fmt::Display;
use std::future::Future;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use std::time::Duration;
use tokio::net::unix::pipe;
use tokio::time::{sleep, Sleep};

/// Bytes per read while the head is searched.
const READ: usize = 16 * 1024;
/// The largest number of bytes that are kept while the worker has not sent the head. When more
/// arrive, the head that the worker gave at the opening of the tap is used.
const AHEAD: usize = 64 * 1024;

/// How the response's head reaches the front.
pub enum Header {
    /// The head comes through the pipe, before the body. This head has the fields and status that
    /// the script set through its API. The status may be 0.
    InPipe(Head),
    /// The worker sends the head in a record. If no such record comes, this head counts.
    Apart(ScriptHead),
}

/// What the worker has said about its own part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerProgress {
    Nothing,
    Ended,
    /// The worker's part has ended, and other holders of the pipe are not awaited.
    Detached,
    Failed(Fault),
}

/// Facts about the tap's request, for the log and the time limit.
pub struct TapRequest {
    pub log: ErrorLog,
    pub origin: Origin,
    pub file: Vec<u8>,
    pub timeout: Duration,
}

/// A tap that the worker has opened and the front does not read yet.
pub struct Unread {
    pub file: OwnedFd,
    pub header: Header,
    pub about: TapRequest,
}

pub struct Tap {
    pipe: pipe::Receiver,
    header: Header,
    about: TapRequest,
    /// Bytes that were read before the head was found.
    early: Vec<u8>,
    searched: usize,
    patience: Option<Pin<Box<Sleep>>>,
}

/// Returns the log line about a program whose children outlast the time limit.
pub fn held_open(file: &Path, timeout: Duration) -> String {
    format!(
        "a process that {} started holds its output open for {} s after it (Timeout): the response ends here",
        file.display(),
        timeout.as_secs_f64()
    )
}

impl Unread {
    /// Registers the pipe with the runtime. Must be called inside the runtime. An error means that
    /// the worker did not send a pipe.
    pub fn open(self) -> io::Result<Tap> {
        Ok(Tap {
            pipe: pipe::Receiver::from_owned_fd(self.file)?,
            header: self.header,
            about: self.about,
            early: Vec::new(),
            searched: 0,
            patience: None,
        })
    }
}

impl Tap {
    /// Returns the head, if it comes through the pipe or is needed before the worker sends it.
    pub fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        said: WorkerProgress,
    ) -> Poll<Result<ScriptHead, Fault>> {
        let is_over = loop {
            match &mut self.header {
                Header::InPipe(_) => {
                    if let Some(head) = self.find_head(said) {
                        return Poll::Ready(head);
                    }
                }
                Header::Apart(so_far) if self.early.len() >= AHEAD => {
                    return Poll::Ready(Ok(so_far.clone()));
                }
                Header::Apart(_) => {}
            }
            let mut early = std::mem::take(&mut self.early);
            let read = self.poll_pipe(cx, &mut early, READ, said);
            self.early = early;
            match read {
                Poll::Ready(0) => break true,
                Poll::Ready(_) => {}
                Poll::Pending => break false,
            }
        };
        match said {
            WorkerProgress::Nothing => return Poll::Pending,
            WorkerProgress::Failed(Fault::CutOff) => return Poll::Ready(Err(Fault::BadHeader)),
            WorkerProgress::Failed(fault) => return Poll::Ready(Err(fault)),
            WorkerProgress::Ended if !is_over => ready!(self.poll_time_limit(cx)),
            WorkerProgress::Ended | WorkerProgress::Detached => {}
        }
        Poll::Ready(Err(match self.header {
            Header::InPipe(_) => self.premature(),
            Header::Apart(_) => Fault::BadResponse,
        }))
    }

    /// Appends at most `room` bytes of the body. `Ok(false)`: the body is complete.
    pub fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        room: usize,
        said: WorkerProgress,
    ) -> Poll<Result<bool, Fault>> {
        if !self.early.is_empty() {
            let count = self.early.len().min(room.max(1));
            into.extend(self.early.drain(..count));
            return Poll::Ready(Ok(true));
        }
        let is_over = match self.poll_pipe(cx, into, room.max(1), said) {
            Poll::Ready(0) => true,
            Poll::Ready(_) => return Poll::Ready(Ok(true)),
            Poll::Pending => false,
        };
        match said {
            WorkerProgress::Nothing => return Poll::Pending,
            // The script failed after its head was sent. The bytes that have arrived are the
            // response.
            WorkerProgress::Ended | WorkerProgress::Failed(Fault::Status(_)) if !is_over => {
                ready!(self.poll_time_limit(cx))
            }
            WorkerProgress::Ended
            | WorkerProgress::Detached
            | WorkerProgress::Failed(Fault::Status(_)) => {}
            WorkerProgress::Failed(fault) => return Poll::Ready(Err(fault)),
        }
        Poll::Ready(Ok(false))
    }

    /// Returns a head once something follows it or nothing more can follow. If a script fails after
    /// only a head, the client gets the server's error page.
    fn find_head(&mut self, said: WorkerProgress) -> Option<Result<ScriptHead, Fault>> {
        let Some(end) = script_head::end(&self.early, self.searched) else {
            self.searched = self.early.len();
            let too_large = self.early.len() > script_head::LONGEST;
            return too_large.then(|| Err(self.malformed(&Malformed::TooLarge)));
        };
        let stands = match said {
            WorkerProgress::Ended
            | WorkerProgress::Detached
            | WorkerProgress::Failed(Fault::CutOff) => true,
            WorkerProgress::Nothing | WorkerProgress::Failed(_) => end < self.early.len(),
        };
        stands.then(|| self.read_head(end))
    }

    fn read_head(&mut self, end: usize) -> Result<ScriptHead, Fault> {
        let mut parsed = match script_head::parse(&self.early[..end], Form::Parsed) {
            Ok(parsed) => parsed,
            Err(why) => return Err(self.malformed(&why)),
        };
        self.early.drain(..end);
        if let (ScriptHead::Response(head), Header::InPipe(beside)) = (&mut parsed, &self.header) {
            // The worker did not know yet what the script would print.
            let has_own_type = [&b"content-type"[..], b"location"].iter().any(|name| {
                head.lines
                    .split_inclusive(is_line_end)
                    .any(|line| is_of(line, name))
            });
            let lines = beside.lines.split_inclusive(is_line_end);
            let left = lines.filter(|line| !(has_own_type && is_of(line, b"content-type")));
            let left: Vec<u8> = left.flatten().copied().collect();
            head.lines.extend_from_slice(&left);
            head.marks.fields.extend(marks_of(beside));
            head.content_length = head.content_length.or(beside.content_length);
            head.has_date |= beside.has_date;
            head.has_server |= beside.has_server;
            if head.status == 200 && beside.status != 0 {
                head.status = beside.status;
            }
            head.may_be_conditional &= beside.status == 0;
        }
        Ok(parsed)
    }

    /// Reads from the pipe. Returns the number of bytes, or 0 at the end. After the worker's last
    /// record, all output of the worker is in the pipe, even if the runtime does not yet know that
    /// the pipe is readable.
    fn poll_pipe(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        room: usize,
        said: WorkerProgress,
    ) -> Poll<usize> {
        let before = into.len();
        into.resize(before + room, 0);
        let got = loop {
            if said != WorkerProgress::Nothing {
                if let Poll::Ready(count) =
                    settled(rustix::io::read(self.pipe.as_fd(), &mut into[before..]))
                {
                    break Poll::Ready(count);
                }
            }
            match self.pipe.poll_read_ready(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => break Poll::Ready(0),
                Poll::Pending => break Poll::Pending,
            }
            if let Poll::Ready(count) = settled(self.pipe.try_read(&mut into[before..])) {
                break Poll::Ready(count);
            }
        };
        let count = match got {
            Poll::Ready(count) => count,
            Poll::Pending => 0,
        };
        into.truncate(before + count);
        got
    }

    /// Waits, after the script has ended, until the time limit for the processes that still hold
    /// the pipe is over.
    fn poll_time_limit(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let timeout = self.about.timeout;
        let patience = self
            .patience
            .get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(patience.as_mut().poll(cx));
        let file = Path::new(OsStr::from_bytes(&self.about.file));
        self.log(LogLevel::Warn, held_open(file, timeout));
        Poll::Ready(())
    }

    fn premature(&self) -> Fault {
        let file = String::from_utf8_lossy(&self.about.file);
        if self.early.is_empty() {
            self.log(
                LogLevel::Error,
                format_args!("premature end of script headers: {file}"),
            )
        } else {
            self.log(
                LogLevel::Error,
                format_args!(
                    "malformed header from script: no blank line after the headers: {file}"
                ),
            )
        }
        Fault::BadHeader
    }

    fn malformed(&self, why: &Malformed) -> Fault {
        let file = String::from_utf8_lossy(&self.about.file);
        self.log(
            LogLevel::Error,
            format_args!("malformed header from script {file}: {why}"),
        );
        Fault::BadHeader
    }

    fn log(&self, level: LogLevel, message: impl Display) {
        self.about.log.log(level, self.about.origin, message);
    }
}

/// Treats an error at the reading end of a pipe as the end of the pipe, because nothing more can
/// come.
fn settled<E: Into<io::Error>>(read: Result<usize, E>) -> Poll<usize> {
    match read.map_err(Into::into) {
        Ok(count) => Poll::Ready(count),
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Poll::Pending,
            _ => Poll::Ready(0),
        },
    }
}

fn is_line_end(byte: &u8) -> bool {
    *byte == b'\n'
}

/// Whether a header line is a field of this name.
fn is_of(line: &[u8], name: &[u8]) -> bool {
    let end = memchr::memchr(b':', line).unwrap_or(line.len());
    line[..end].eq_ignore_ascii_case(name)
}

/// Returns the marks of all fields of a head whose worker has said the tables.
fn marks_of(head: &Head) -> Vec<(Vec<u8>, HeadTable)> {
    let lines = head.lines.split_inclusive(|byte| *byte == b'\n');
    let names: Vec<&[u8]> = lines
        .filter_map(|line| line.split(|byte| *byte == b':').next())
        .collect();
    let tables = head.marks.tables(names.iter().copied());
    let marked = names.into_iter().zip(tables);
    marked
        .filter_map(|(name, table)| Some((name.to_vec(), table?)))
        .collect()
}

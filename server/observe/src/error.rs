//! The error log: `[Sat Nov 21 20:25:01.123456 2026] [error] [pid 123] [req 4711] [worker 124]
//! message`.
//!
//! Any thread may write, and no thread waits for the disk. A message is always one line. Repeated
//! messages are summarised. [`ErrorLog::log_at_most_every`] is for warnings that recur.

use crate::clock::Clock;
use crate::escape;
use crate::sink::Sink;
use crate::spool::Spool;
use mehari_config::{LogLevel, LogTarget};
use std::fmt::{self, Write};
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

mod flood;
mod form;
mod groups;
mod lines;

use form::Form;
pub use groups::{ErrorGroup, ErrorGroups};
pub use lines::Lines;

/// The longest message in bytes. A longer message is cut, as in Apache.
const LONGEST: usize = 8 * 1024;

/// The source of a message. The default is the server itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Origin {
    /// The process that sent the message. `None` means this process.
    pub pid: Option<u32>,
    pub request: Option<u64>,
    /// The worker that ran the request.
    pub worker: Option<u32>,
    /// The client of the request.
    pub client: Option<IpAddr>,
    /// The number of the virtual host whose log gets the message. 0: the main server.
    pub host: u32,
    /// The least severe level that is written. `None`: that of the log.
    pub level: Option<LogLevel>,
}

/// A handle on the error log. Clones write to the same target.
#[derive(Clone)]
pub struct ErrorLog {
    shared: Arc<Shared>,
}

struct Shared {
    level: LogLevel,
    form: Form,
    /// The log's spool. `None` if the log is off.
    spool: Option<Spool>,
    flood: Arc<flood::Guard>,
    groups: ErrorGroups,
    /// The logs of the virtual hosts, by their numbers less 1. `None`: the host uses this log.
    hosts: RwLock<Vec<Option<ErrorLog>>>,
    clock: Mutex<Clock>,
}

impl ErrorLog {
    /// Opens the target for appending and creates it if it is missing. Messages less severe than
    /// `level` are not written.
    ///
    /// # Errors
    ///
    /// The error of opening the target or of starting the thread. The message names the file.
    pub fn open(target: &LogTarget, level: LogLevel) -> io::Result<ErrorLog> {
        let form = Form::of(target);
        let flood = Arc::new(flood::Guard::new(form));
        let spool = match Sink::open(target)? {
            Some(sink) => Some(flood::guarded(&flood, sink)?),
            None => None,
        };
        Ok(ErrorLog {
            shared: Arc::new(Shared {
                level,
                form,
                spool,
                flood,
                groups: ErrorGroups::default(),
                hosts: RwLock::default(),
                clock: Mutex::new(form.clock()),
            }),
        })
    }

    /// Returns whether a message of this level would be written. Callers ask before they format a
    /// costly message.
    pub fn takes(&self, level: LogLevel) -> bool {
        self.shared.spool.is_some() && level <= self.shared.level
    }

    fn takes_from(&self, origin: Origin, level: LogLevel) -> bool {
        let least = origin.level.unwrap_or(self.shared.level);
        self.shared.spool.is_some() && level <= least
    }

    /// Sets the logs of the virtual hosts. The groups of messages stay those of this log.
    pub fn replace_hosts(&self, logs: Vec<Option<ErrorLog>>) {
        let mut hosts = self.shared.hosts.write();
        let hosts = hosts.as_mut().unwrap_or_else(|poisoned| poisoned.get_mut());
        **hosts = logs;
    }

    /// Returns the log of a virtual host. `None`: the host uses this log.
    fn of_host(&self, number: u32) -> Option<ErrorLog> {
        let index = (number as usize).checked_sub(1)?;
        let hosts = self.shared.hosts.read();
        let hosts = hosts.unwrap_or_else(PoisonError::into_inner);
        hosts.get(index)?.clone()
    }

    pub fn log(&self, level: LogLevel, origin: Origin, message: impl fmt::Display) {
        let own = self.of_host(origin.host);
        if !own.as_ref().unwrap_or(self).takes_from(origin, level) {
            return;
        }
        let mut text = Text(Vec::with_capacity(160));
        // `Text` returns an error when it cuts a long message. This error needs no handling.
        let _ = write!(text, "{message}");
        self.log_bytes(level, origin, &text.0);
    }

    /// Logs a message that consists of bytes, such as a program's stderr.
    pub fn log_bytes(&self, level: LogLevel, origin: Origin, message: &[u8]) {
        self.log_of_request(level, origin, "", message);
    }

    /// Logs a message about a request. `asked` says who asked for what. The text stands before the
    /// message and does not count when messages are compared.
    pub fn log_of_request(&self, level: LogLevel, origin: Origin, asked: &str, message: &[u8]) {
        let own = self.of_host(origin.host);
        let log = own.as_ref().unwrap_or(self);
        if !log.takes_from(origin, level) {
            return;
        }
        let message = trimmed(&message[..message.len().min(LONGEST)]);
        self.shared.groups.add(level, origin, message);
        if log.shared.flood.admits(level, message, Instant::now()) {
            log.append(level, origin, asked, message);
        }
    }

    fn append(&self, level: LogLevel, origin: Origin, asked: &str, message: &[u8]) {
        self.write(level, origin, asked, message);
        if level <= LogLevel::Crit {
            // The process may end right after a message of this level, so the message is written at
            // once.
            self.write_out(Duration::from_millis(500));
        }
    }

    /// Returns the messages from warnings upwards, in groups.
    pub fn groups(&self) -> &ErrorGroups {
        &self.shared.groups
    }

    /// Writes the message unless a message with the same `key` was written less than `pause` ago.
    /// Returns true if the message was written.
    pub fn log_at_most_every(
        &self,
        pause: Duration,
        key: &str,
        level: LogLevel,
        message: impl fmt::Display,
    ) -> bool {
        let due = self.takes(level) && self.shared.flood.is_due(key, pause, Instant::now());
        if due {
            self.log(level, Origin::default(), message);
        }
        due
    }

    pub fn error(&self, message: impl fmt::Display) {
        self.log(LogLevel::Error, Origin::default(), message);
    }

    pub fn warn(&self, message: impl fmt::Display) {
        self.log(LogLevel::Warn, Origin::default(), message);
    }

    pub fn notice(&self, message: impl fmt::Display) {
        self.log(LogLevel::Notice, Origin::default(), message);
    }

    pub fn info(&self, message: impl fmt::Display) {
        self.log(LogLevel::Info, Origin::default(), message);
    }

    /// Opens the file again. If this fails, the old file stays in use and gets a line with the
    /// reason. `opened`: the file, if the process itself may not open it.
    pub fn reopen(&self, opened: Option<File>) {
        if let Some(spool) = &self.shared.spool {
            spool.reopen(opened);
        }
    }

    /// Waits until all messages are written, including counts of repeated messages. Returns false
    /// if the disk took longer than `limit`.
    pub fn flush(&self, limit: Duration) -> bool {
        self.shared.flood.end_windows();
        self.write_out(limit)
    }

    fn write_out(&self, limit: Duration) -> bool {
        let spool = self.shared.spool.as_ref();
        spool.is_none_or(|spool| spool.flush(limit))
    }

    fn write(&self, level: LogLevel, origin: Origin, asked: &str, message: &[u8]) {
        let Some(spool) = &self.shared.spool else {
            return;
        };
        let mut clock = self
            .shared
            .clock
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let time = clock.text(SystemTime::now());
        spool.append(|line| {
            let form = self.shared.form;
            form.prefix(line, time, level, origin);
            form.asked(line, asked);
            escape::message(line, message);
            line.push(b'\n');
        });
    }
}

fn word(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Emerg => "emerg",
        LogLevel::Alert => "alert",
        LogLevel::Crit => "crit",
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Notice => "notice",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
    }
}

/// Returns the message without its newlines at the end. Perl's messages end with a newline, and the
/// log adds its own newline.
fn trimmed(message: &[u8]) -> &[u8] {
    let end = message
        .iter()
        .rposition(|byte| !matches!(byte, b'\n' | b'\r'))
        .map_or(0, |last| last + 1);
    &message[..end]
}

struct Text(Vec<u8>);

impl Write for Text {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = LONGEST.saturating_sub(self.0.len());
        self.0
            .extend_from_slice(&part.as_bytes()[..part.len().min(room)]);
        if part.len() > room {
            return Err(fmt::Error);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! The access log: one line per request. The front's thread formats the line, and a thread of the
//! log writes the line.
//!
//! The front makes one [`AccessLog`] and calls [`AccessLog::record`] when a response is complete.
//! If the disk is too slow, lines are dropped and counted, and the error log reports the count.

use crate::clock::{Clock, Style};
use crate::error::{ErrorLog, Origin};
use crate::sink::Sink;
use crate::spool::{Complaint, Spool};
use crate::terminal::Terminal;
use mehari_config::{AccessFormat, AccessLogSettings, Condition, LogLevel, VariableSource};
use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

mod combined;
mod custom;
mod json;
mod short;

/// How long a recorded line may wait in memory.
const PATIENCE: Duration = Duration::from_millis(200);

/// One answered request. Except for the address and the protocol, which the server writes itself,
/// the byte strings are as the client sent them. The formats escape them.
#[derive(Debug, Clone, Copy)]
pub struct AccessEntry<'a> {
    /// The client's address without a port.
    pub remote: &'a [u8],
    /// The client's host name, if the server has looked the name up.
    pub name: Option<&'a [u8]>,
    /// The authenticated user.
    pub user: Option<&'a [u8]>,
    /// When the request arrived.
    pub time: SystemTime,
    /// The request method. Empty if the request had no readable request line.
    pub method: &'a [u8],
    /// The request target as sent: path and query.
    pub target: &'a [u8],
    /// The protocol, for example `HTTP/1.1`. The text is one of the server's own.
    pub protocol: &'static [u8],
    pub status: u16,
    /// Bytes of the response body that were sent.
    pub bytes: u64,
    pub referer: Option<&'a [u8]>,
    pub user_agent: Option<&'a [u8]>,
    pub request_id: u64,
    /// The process that ran the request's Perl code.
    pub worker: Option<u32>,
    /// Microseconds that the request waited for a worker.
    pub queue_us: u64,
    /// The values for a site's own log formats.
    pub more: More<'a>,
    /// Microseconds from the request's arrival to the end of its response.
    pub total_us: u64,
}

impl<'a> AccessEntry<'a> {
    /// Returns the client's host name if it is known, otherwise the client's address.
    pub fn client(&self) -> &'a [u8] {
        self.name.unwrap_or(self.remote)
    }
}

/// The values of an [`AccessEntry`] that the combined format does not need. The front fills them
/// only when a log asks for them ([`mehari_config::LogNeeds`]).
#[derive(Debug, Clone, Copy, Default)]
pub struct More<'a> {
    /// The address of the connection's other end. Behind a trusted proxy `remote` differs.
    pub peer: &'a [u8],
    pub peer_port: u16,
    pub server_addr: &'a [u8],
    pub server_port: u16,
    pub server_name: &'a [u8],
    /// The header fields of the request, in order.
    pub fields: &'a [(&'a [u8], &'a [u8])],
    /// The header lines of the response. Each line has the form `Name: value\r\n`.
    pub response: &'a [u8],
    /// The variables of `SetEnv`, and those of `PerlSetEnv`.
    pub environment: [&'a [(String, String)]; 2],
    /// Names of variables that Perl's handlers have taken out.
    pub removed: &'a [Vec<u8>],
    /// The notes of Perl's handlers.
    pub notes: &'a [(Vec<u8>, Vec<u8>)],
    /// The method and the decoded path that Perl's handlers have set. `None`: unchanged.
    pub method: Option<&'a [u8]>,
    pub path: Option<&'a [u8]>,
    /// Variables that rules have set for this request. They take precedence over `environment`. If
    /// a name occurs several times, its last variable wins.
    pub variables: &'a [(Vec<u8>, Vec<u8>)],
    pub tls: Option<&'a dyn Lookup>,
    pub file: &'a [u8],
    pub handler: &'a str,
    /// The status before an error document or an internal redirect of a script.
    pub first_status: u16,
    /// The target that answered, if this target differs from the requested target.
    pub resource: &'a [u8],
    /// The query that Perl's handlers have set, without its `?`. `None`: unchanged.
    pub query: Option<&'a [u8]>,
    /// The number of requests that this connection served before.
    pub kept: u64,
    pub ends: Ending,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// Microseconds from when the worker takes the request to the head of its response.
    pub backend_us: u64,
    /// The response cache's result. Empty if the cache was bypassed.
    pub cache: &'a str,
    /// The values that conditions of logs read. `None`: no condition is an expression.
    pub variables_of_conditions: Option<ConditionVariables<'a>>,
}

/// The source of the values for the conditions of logs.
#[derive(Clone, Copy)]
pub struct ConditionVariables<'a>(pub &'a dyn VariableSource);

impl std::fmt::Debug for ConditionVariables<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("ConditionVariables")
    }
}

/// The state of the connection after the response (`%X`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ending {
    /// The client closed the connection before its response was complete.
    Aborted,
    Kept,
    #[default]
    Closed,
}

/// Finds variables by their names.
pub trait Lookup: std::fmt::Debug {
    fn value(&self, name: &str) -> Option<&str>;
}

/// The access log of the front's thread. Several owners on this thread share the log through `Rc`.
pub struct AccessLog {
    /// The log's spool. `None` if the log is off.
    spool: Option<Spool>,
    format: AccessFormat,
    condition: Condition,
    terminal: Terminal,
    clock: RefCell<Clock>,
}

impl AccessLog {
    /// Opens the target for appending, and starts the writer. A missing file is created.
    /// `error_log` gets the counts of lost lines.
    ///
    /// # Errors
    ///
    /// The error of opening the target or of starting the thread. The message names the file.
    pub fn open(settings: &AccessLogSettings, error_log: &ErrorLog) -> io::Result<AccessLog> {
        let style = match settings.format {
            AccessFormat::Combined | AccessFormat::Custom(_) => Style::Combined,
            AccessFormat::Json => Style::Rfc3339,
            AccessFormat::Terminal => Style::Terminal,
        };
        let spool = match Sink::open(&settings.target)? {
            Some(sink) => Some(Spool::start(
                "access-log",
                sink,
                PATIENCE,
                None,
                complain_to(error_log.clone()),
            )?),
            None => None,
        };
        Ok(AccessLog {
            spool,
            format: settings.format.clone(),
            condition: settings.condition.clone(),
            terminal: Terminal::from_environment(),
            clock: RefCell::new(Clock::new(style)),
        })
    }

    /// Appends the entry's line to the memory of the log. The call never waits for the disk.
    pub fn record(&self, entry: &AccessEntry<'_>) {
        let Some(spool) = &self.spool else { return };
        if !is_met(&self.condition, entry) {
            return;
        }
        let mut clock = self.clock.borrow_mut();
        let time = clock.text(entry.time);
        spool.append(|line| match &self.format {
            AccessFormat::Combined => combined::write(line, entry, time),
            AccessFormat::Json => json::write(line, entry, time),
            AccessFormat::Terminal => short::write(line, entry, time, self.terminal),
            AccessFormat::Custom(format) => custom::write(line, &format.items, entry, time),
        });
    }

    /// Opens the file again after a rotation. Recorded lines that are not yet written go to the new
    /// file. If the new file cannot be opened, the old file stays in use and the error log says
    /// why. `opened`: the file, if the process itself may not open it.
    pub fn reopen(&self, opened: Option<File>) {
        if let Some(spool) = &self.spool {
            spool.reopen(opened);
        }
    }

    /// Waits until all recorded lines are written. Returns false if the disk took longer than
    /// `limit`.
    pub fn flush(&self, limit: Duration) -> bool {
        self.spool.as_ref().is_none_or(|spool| spool.flush(limit))
    }
}

/// Whether the request meets a log's condition.
fn is_met(condition: &Condition, entry: &AccessEntry<'_>) -> bool {
    match condition {
        Condition::Always => true,
        Condition::Variable { name, set } => custom::environment(entry, name).is_some() == *set,
        Condition::Expression(expression) => {
            let variables = entry.more.variables_of_conditions;
            variables.is_some_and(|source| expression.holds(source.0))
        }
    }
}

fn complain_to(error_log: ErrorLog) -> Complaint {
    Arc::new(move |what| {
        error_log.log(
            LogLevel::Error,
            Origin::default(),
            format_args!("access log {what}"),
        )
    })
}

#[cfg(test)]
mod tests;

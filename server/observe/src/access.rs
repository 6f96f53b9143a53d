//! The access log: one line a request, formatted on the front's thread, written by another.
//!
//! The front makes one [`AccessLog`] and calls [`AccessLog::record`] when a response is complete. A line
//! that the disk is too slow for is dropped and counted; the error log gets the count.

use crate::clock::{Clock, Style};
use crate::error::{ErrorLog, Origin};
use crate::sink::Sink;
use crate::spool::{Complaint, Spool};
use mehari_config::{AccessFormat, AccessLogSettings, LogLevel};
use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

mod combined;
mod custom;
mod json;

/// How long a recorded line may wait in memory.
const PATIENCE: Duration = Duration::from_millis(200);

/// One answered request. Bytes are as the client sent them: the formats escape them.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The client's address, without a port.
    pub remote: &'a [u8],
    /// Its name, where that was looked up.
    pub name: Option<&'a [u8]>,
    /// The authenticated user.
    pub user: Option<&'a [u8]>,
    /// When the request arrived.
    pub time: SystemTime,
    /// Empty: there was no readable request line.
    pub method: &'a [u8],
    /// As sent: path and query.
    pub target: &'a [u8],
    /// `HTTP/1.1`
    pub protocol: &'a [u8],
    pub status: u16,
    /// Body bytes sent.
    pub bytes: u64,
    pub referer: Option<&'a [u8]>,
    pub user_agent: Option<&'a [u8]>,
    pub request_id: u64,
    /// The process that ran the request's Perl.
    pub worker: Option<u32>,
    /// Microseconds the request waited for a worker.
    pub queue_us: u64,
    /// What formats of a site's own may ask for besides.
    pub more: More<'a>,
    /// Microseconds from the request's arrival to the end of its response.
    pub total_us: u64,
}

impl<'a> Entry<'a> {
    /// Who it was: a name, or the address.
    pub fn client(&self) -> &'a [u8] {
        self.name.unwrap_or(self.remote)
    }
}

/// The rest of an [`Entry`], which the combined format does not have. It is there only when a log asks for it
/// ([`mehari_config::LogNeeds`]).
#[derive(Debug, Clone, Copy, Default)]
pub struct More<'a> {
    /// The address of the other end of the connection, where `remote` is somebody behind it.
    pub peer: &'a [u8],
    pub peer_port: u16,
    pub server_addr: &'a [u8],
    pub server_port: u16,
    pub server_name: &'a [u8],
    /// Of the request's own header, in order.
    pub fields: &'a [(&'a [u8], &'a [u8])],
    /// The header lines of the response, each `Name: value\r\n`.
    pub response: &'a [u8],
    pub environment: &'a [(String, String)],
    /// Set by rules for this request; they count before `environment`, the last of a name first.
    pub variables: &'a [(Vec<u8>, Vec<u8>)],
    pub tls: Option<&'a dyn Lookup>,
    pub file: &'a [u8],
    pub handler: &'a str,
    /// The status before an error document or a script's redirect within the server.
    pub first_status: u16,
    /// The target that answered, when it is not the one asked for.
    pub resource: &'a [u8],
    /// Requests this connection served before.
    pub kept: u64,
    pub ends: Ending,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// Microseconds from the worker's begin to the head of its response.
    pub backend_us: u64,
    /// What the response cache did; empty: it was not asked.
    pub cache: &'a str,
}

/// What became of the connection (`%X`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ending {
    /// The client went before its response was complete.
    Aborted,
    Kept,
    #[default]
    Closed,
}

/// Variables by name.
pub trait Lookup: std::fmt::Debug {
    fn value(&self, name: &str) -> Option<&str>;
}

/// The access log of the front's thread; share it there with `Rc`.
pub struct AccessLog {
    /// `None`: the log is off.
    spool: Option<Spool>,
    format: AccessFormat,
    condition: Option<(bool, String)>,
    clock: RefCell<Clock>,
}

impl AccessLog {
    /// Opens (and creates) the target for appending and starts the writer. `error_log` hears of lines lost.
    pub fn open(settings: &AccessLogSettings, error_log: &ErrorLog) -> io::Result<AccessLog> {
        let style = match settings.format {
            AccessFormat::Combined | AccessFormat::Custom(_) => Style::Combined,
            AccessFormat::Json => Style::Rfc3339,
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
            clock: RefCell::new(Clock::new(style)),
        })
    }

    /// Writes the entry's line into memory. Never waits for the disk.
    pub fn record(&self, entry: &Entry<'_>) {
        let Some(spool) = &self.spool else { return };
        if let Some((wanted, name)) = &self.condition {
            let mut set = entry.more.environment.iter();
            if set.any(|(known, _)| known == name) != *wanted {
                return;
            }
        }
        let mut clock = self.clock.borrow_mut();
        let time = clock.text(entry.time);
        spool.append(|line| match &self.format {
            AccessFormat::Combined => combined::write(line, entry, time),
            AccessFormat::Json => json::write(line, entry, time),
            AccessFormat::Custom(format) => custom::write(line, &format.items, entry, time),
        });
    }

    /// Opens the file anew (after a rotation). What was recorded and not yet written goes to the new file.
    /// When that cannot be opened the old one stays in use and the error log says so.
    pub fn reopen(&self) {
        if let Some(spool) = &self.spool {
            spool.reopen();
        }
    }

    /// Waits until everything recorded is written. False: the disk took more than `limit`.
    pub fn flush(&self, limit: Duration) -> bool {
        self.spool.as_ref().is_none_or(|spool| spool.flush(limit))
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

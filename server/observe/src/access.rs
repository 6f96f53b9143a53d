//! The access log: one line a request, formatted on the front's thread, written by another.
//!
//! The front makes one [`AccessLog`] and calls [`AccessLog::record`] when a response is complete. A line
//! that the disk is too slow for is dropped and counted; the error log gets the count.

use crate::clock::{Clock, Style};
use crate::error::{ErrorLog, Origin};
use crate::sink::Sink;
use crate::spool::{Complaint, Spool};
use mehari_config::{AccessFormat, LogLevel, LogTarget};
use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

mod combined;
mod json;

/// How long a recorded line may wait in memory.
const PATIENCE: Duration = Duration::from_millis(200);

/// One answered request. Bytes are as the client sent them: the formats escape them.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The client's address, without a port.
    pub remote: &'a [u8],
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
    /// Microseconds from the request's arrival to the end of its response.
    pub total_us: u64,
}

/// The access log of the front's thread; share it there with `Rc`.
pub struct AccessLog {
    /// `None`: the log is off.
    spool: Option<Spool>,
    format: AccessFormat,
    clock: RefCell<Clock>,
}

impl AccessLog {
    /// Opens (and creates) the target for appending and starts the writer. `error_log` hears of lines lost.
    pub fn open(
        target: &LogTarget,
        format: AccessFormat,
        error_log: &ErrorLog,
    ) -> io::Result<AccessLog> {
        let style = match format {
            AccessFormat::Combined => Style::Combined,
            AccessFormat::Json => Style::Rfc3339,
        };
        let spool = match Sink::open(target)? {
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
            format,
            clock: RefCell::new(Clock::new(style)),
        })
    }

    /// Writes the entry's line into memory. Never waits for the disk.
    pub fn record(&self, entry: &Entry<'_>) {
        let Some(spool) = &self.spool else { return };
        let mut clock = self.clock.borrow_mut();
        let time = clock.text(entry.time);
        spool.append(|line| match self.format {
            AccessFormat::Combined => combined::write(line, entry, time),
            AccessFormat::Json => json::write(line, entry, time),
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
        self.spool.as_ref().map_or(true, |spool| spool.flush(limit))
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

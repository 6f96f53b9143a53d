//! Sends batches to a collector: POST requests (OTLP over HTTP) on a connection that is kept. The
//! collector is not trusted: each exchange has one time limit, and the answer a limit of bytes.

mod answer;
mod connection;

use answer::Answer;
use connection::{Connection, Trust};
use mehari_config::TraceExport;
use std::io::{self, ErrorKind, Read, Write};
use std::time::{Duration, Instant};

/// The most bytes of the answer that are read.
const LONGEST_ANSWER: usize = 16 * 1024;
/// The statuses after which a batch may be sent again.
const TRY_AGAIN: [u16; 4] = [429, 502, 503, 504];

/// Why a collector has not taken a batch.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    pub reason: String,
    /// Whether the batch may be sent again, and after which time if the collector says it.
    pub retry_after: Option<Option<Duration>>,
}

/// The way to a collector.
pub struct Collector {
    settings: TraceExport,
    trust: Option<Trust>,
    kept: Option<Connection>,
}

impl Collector {
    /// # Errors
    ///
    /// A text: the authorities for `https://` cannot be read.
    pub fn new(settings: TraceExport) -> Result<Collector, String> {
        let trust = settings.is_secure.then(|| Trust::load(&settings));
        Ok(Collector {
            trust: trust.transpose()?,
            settings,
            kept: None,
        })
    }

    pub fn url(&self) -> String {
        self.settings.to_string()
    }

    pub fn is_connected(&self) -> bool {
        self.kept.is_some()
    }

    /// Closes the kept connection.
    pub fn disconnect(&mut self) {
        self.kept = None;
    }

    /// Sends a body and waits for the answer. Returns the number of spans that the collector has
    /// rejected.
    pub fn post(&mut self, body: &[u8]) -> Result<u64, Refusal> {
        let answer = self.exchange(body).map_err(|error| self.refused(&error))?;
        match answer.status() {
            Some(200..=299) => Ok(answer.rejected_spans()),
            Some(status) => Err(Refusal {
                reason: format!("the collector answers with status {status}"),
                retry_after: TRY_AGAIN.contains(&status).then(|| answer.retry_after()),
            }),
            None => Err(Refusal {
                reason: "the collector does not answer with HTTP/1.1".to_owned(),
                retry_after: None,
            }),
        }
    }

    fn refused(&self, error: &io::Error) -> Refusal {
        let reason = match error.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => {
                let limit = self.settings.timeout.as_millis();
                format!("no answer within {limit} ms")
            }
            _ => error.to_string(),
        };
        Refusal {
            reason,
            retry_after: Some(None),
        }
    }

    fn exchange(&mut self, body: &[u8]) -> io::Result<Answer> {
        let until = Instant::now() + self.settings.timeout;
        if let Some(mut kept) = self.kept.take() {
            kept.limit(until);
            match self.exchange_on(kept, body) {
                // The collector has closed the connection since the last exchange.
                Ok(answer) if answer.is_empty() => {}
                Err(error) if !is_late(&error) => {}
                done => return done,
            }
        }
        let connection = Connection::open(&self.settings, self.trust.as_ref(), until)?;
        self.exchange_on(connection, body)
    }

    /// Returns the answer, or its beginning. Keeps the connection if the collector keeps it.
    fn exchange_on(&mut self, mut connection: Connection, body: &[u8]) -> io::Result<Answer> {
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: mehari/{}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.settings.path,
            self.settings.authority(),
            env!("CARGO_PKG_VERSION"),
            body.len()
        );
        connection.write_all(head.as_bytes())?;
        connection.write_all(body)?;
        connection.flush()?;
        let mut answer = Answer::default();
        let mut part = [0; 4096];
        while answer.len() < LONGEST_ANSWER && !answer.is_complete() {
            match connection.read(&mut part) {
                Ok(0) => break,
                Ok(count) => answer.add(&part[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if answer.leaves_connection_open() {
            self.kept = Some(connection);
        }
        Ok(answer)
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock)
}

//! Defines the results of a run for ab's report. The tally fills in the results, and the reports
//! print them.

use super::times::Times;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failures {
    /// Connections that could not be opened.
    pub connect: u64,
    /// Responses that were incomplete when the connection broke or the time ran out.
    pub receive: u64,
    /// Bodies whose length differs from the first body's.
    pub length: u64,
    /// Other failures.
    pub exceptions: u64,
    /// All failed requests. Unlike Mehari, ab counts some of them twice.
    pub total: u64,
}

/// The additional lines of a TLS run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsLines {
    /// `version,cipher,bits of the peer's key,bits of the cipher`.
    pub protocol: String,
    /// OpenSSL's name of the key exchange, such as `X25519 253 bits`.
    pub temporary_key: Option<String>,
}

#[derive(Debug)]
pub struct Measured {
    /// The `Server` field of the first response, up to the field's first blank.
    pub server_software: Vec<u8>,
    pub tls: Option<TlsLines>,
    /// The server name sent by SNI.
    pub tls_server_name: Option<String>,
    /// Body bytes of the first complete response.
    pub document_length: u64,
    /// Seconds from the first connect to the last event.
    pub elapsed: f64,
    pub complete: u64,
    pub failures: Failures,
    pub write_errors: u64,
    pub non_2xx: u64,
    pub kept_alive: u64,
    pub bytes_read: u64,
    /// Bytes of all heads and bodies sent.
    pub bytes_written: u64,
    pub body_bytes_read: u64,
    pub times: Times,
}

impl Measured {
    pub fn new(times: Times) -> Measured {
        Measured {
            server_software: Vec::new(),
            tls: None,
            tls_server_name: None,
            document_length: 0,
            elapsed: 0.0,
            complete: 0,
            failures: Failures::default(),
            write_errors: 0,
            non_2xx: 0,
            kept_alive: 0,
            bytes_read: 0,
            bytes_written: 0,
            body_bytes_read: 0,
            times,
        }
    }

    /// Returns whether rates can be computed without a division by zero.
    pub fn has_rates(&self) -> bool {
        self.elapsed > 0.0 && self.complete > 0
    }

    pub fn per_second(&self) -> f64 {
        self.complete as f64 / self.elapsed
    }

    /// Returns a rate in units of 1024 bytes per second.
    pub fn kilobytes_per_second(&self, bytes: u64) -> f64 {
        bytes as f64 / 1024.0 / self.elapsed
    }
}

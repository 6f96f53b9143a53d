//! What a run measured, as ab's report wants it. Plain data: the tally fills it, the reports print it.

use super::times::Times;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failures {
    /// No connection came about.
    pub connect: u64,
    /// The connection broke, or the time ran out, before the response was complete.
    pub receive: u64,
    /// The body is not as long as the first one was.
    pub length: u64,
    /// What is none of the above.
    pub exceptions: u64,
    /// Requests that failed; ab counts some of them twice.
    pub total: u64,
}

/// The lines a TLS run adds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsLines {
    /// `version,cipher,bits of the peer's key,bits of the cipher`
    pub protocol: String,
    /// As OpenSSL names the key exchange: `X25519 253 bits`.
    pub temporary_key: Option<String>,
}

#[derive(Debug)]
pub struct Measured {
    /// The `Server` header of the first response, up to its first blank.
    pub server_software: Vec<u8>,
    pub tls: Option<TlsLines>,
    /// The name sent by SNI.
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
    /// Head and body of everything sent.
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

    /// Whether there is anything to divide by.
    pub fn has_rates(&self) -> bool {
        self.elapsed > 0.0 && self.complete > 0
    }

    pub fn per_second(&self) -> f64 {
        self.complete as f64 / self.elapsed
    }

    /// 1024 bytes a second.
    pub fn kilobytes_per_second(&self, bytes: u64) -> f64 {
        bytes as f64 / 1024.0 / self.elapsed
    }
}

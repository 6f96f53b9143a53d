//! Cuts a program's stderr into lines for the error log.

use super::{ErrorLog, Origin, LONGEST};
use mehari_config::LogLevel;

/// Collects bytes and logs each line as soon as it is complete. At most one line is held.
pub struct Lines {
    log: ErrorLog,
    level: LogLevel,
    origin: Origin,
    part: Vec<u8>,
    /// The rest of an overlong line is being discarded.
    skipping: bool,
}

impl Lines {
    pub fn new(log: ErrorLog, level: LogLevel, origin: Origin) -> Lines {
        Lines {
            log,
            level,
            origin,
            part: Vec::new(),
            skipping: false,
        }
    }

    /// Sets the origin of all later lines.
    pub fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            self.add(&bytes[..end]);
            self.finish();
            self.skipping = false;
            bytes = &bytes[end + 1..];
        }
        self.add(bytes);
    }

    /// Logs the last line if it lacks a newline.
    pub fn finish(&mut self) {
        if !self.part.is_empty() {
            self.log.log_bytes(self.level, self.origin, &self.part);
            self.part.clear();
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        if self.skipping {
            return;
        }
        let room = LONGEST - self.part.len();
        self.part.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if self.part.len() == LONGEST {
            self.finish();
            self.skipping = true;
        }
    }
}

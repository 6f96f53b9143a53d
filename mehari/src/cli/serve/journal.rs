//! The front's logs: access lines and errors to where the configuration says.

use mehari_config::{LogLevel, Site};
use mehari_front::{Entry, Journal};
use mehari_observe::{AccessLog, ErrorLog, Origin};
use std::io;
use std::time::Duration;

pub struct Logs {
    pub access: AccessLog,
    pub error: ErrorLog,
}

impl Logs {
    pub fn open(site: &Site) -> io::Result<Logs> {
        let error = ErrorLog::open(&site.logs.error, site.logs.level)?;
        let access = AccessLog::open(&site.logs.access, site.logs.access_format, &error)?;
        Ok(Logs { access, error })
    }

    pub fn reopen(&self) {
        self.access.reopen();
        self.error.reopen();
    }

    pub fn flush(&self) {
        self.access.flush(Duration::from_secs(2));
        self.error.flush(Duration::from_secs(2));
    }
}

impl Journal for Logs {
    fn access(&self, entry: &Entry<'_>) {
        self.access.record(entry);
    }

    fn error(&self, level: LogLevel, request_id: Option<u64>, worker: Option<u32>, text: &str) {
        let origin = Origin {
            pid: None,
            request: request_id,
            worker,
        };
        self.error.log(level, origin, text);
    }
}

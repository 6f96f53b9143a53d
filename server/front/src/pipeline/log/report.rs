//! What workers say for a request's access line. As in Apache, the line is written after the Log
//! handlers, so the codecs wait for them between the response and the line. A worker that ends, and
//! a client that leaves, end the wait, and the line says what is known by then.

use crate::handlers::Backend;
use crate::pipeline::RequestContext;
use mehari_pool::{LogChanges, LogReport, Named};
use std::future::poll_fn;

/// The reports of the workers that have served a request, each with the number of internal
/// redirects before it.
#[derive(Default)]
pub struct LogReports(Vec<(u32, LogReport)>);

impl LogReports {
    /// Whether Log handlers have still to run.
    pub fn wait(&self) -> bool {
        self.0.iter().any(|(_, report)| report.waits())
    }
}

impl RequestContext {
    /// Notes what the worker says for the access line.
    pub fn note_log_report(&mut self, backend: &Backend) {
        let Some(report) = backend.log_report() else {
            return;
        };
        let count = self.redirects();
        let known = &mut self.log_reports.0;
        if !known.iter().any(|(_, known)| known.is(&report)) {
            known.push((count, report));
        }
    }

    /// Waits for the Log handlers. Callers have sent the response before.
    pub async fn wait_for_log_handlers(&mut self) {
        self.tell_worker(self.record.sent);
        for (_, report) in &self.log_reports.0 {
            poll_fn(|cx| report.poll_end(cx)).await;
        }
    }

    /// Takes what the workers have said.
    pub(super) fn take_log_reports(&mut self) {
        let count = self.redirects();
        for (redirects, report) in std::mem::take(&mut self.log_reports.0) {
            if let Some(mut said) = report.take() {
                // As in Apache, the line has the path of the client's request, and the status, but
                // the other parts of the last request.
                if redirects < count {
                    *said = LogChanges {
                        path: said.path.take(),
                        status: said.status,
                        ..LogChanges::default()
                    };
                }
                self.take_log_report(said);
            }
        }
    }

    fn take_log_report(&mut self, mut said: Box<LogChanges>) {
        self.note_changes(std::mem::take(&mut said.request));
        let named = said.user.take().map(|name| Named {
            name,
            kind: Vec::new(),
        });
        self.note_user(named);
        if let Some(earlier) = self.record.said.take() {
            let path = earlier.path.or(said.path.take());
            said.path = path;
        }
        self.record.said = Some(said);
    }

    fn redirects(&self) -> u32 {
        self.redirect.as_ref().map_or(0, |redirect| redirect.count)
    }
}

/// Returns header lines for these fields, and behind them the lines of the response as sent.
pub(super) fn lines(fields: &[(Vec<u8>, Vec<u8>)], sent: &[u8]) -> Vec<u8> {
    let mut lines = Vec::new();
    for (name, value) in fields {
        lines.extend_from_slice(name);
        lines.extend_from_slice(b": ");
        lines.extend_from_slice(value);
        lines.extend_from_slice(b"\r\n");
    }
    lines.extend_from_slice(sent);
    lines
}

//! Writes to the error log what the threads of `TraceExport` report.

use crate::shared::Shared;
use mehari_config::LogLevel;
use mehari_observe::export::ExportReport;
use mehari_observe::Origin;
use std::rc::Rc;

pub async fn tell(shared: Rc<Shared>) {
    let Some(mut reports) = shared.tracer.take_reports() else {
        return;
    };
    while let Some(report) = reports.recv().await {
        let (level, text) = words(&report);
        shared.journal.error(0, level, Origin::default(), &text);
    }
}

fn words(report: &ExportReport) -> (LogLevel, String) {
    match report {
        ExportReport::Failing { url, reason } => {
            let text = format!(
                "TraceExport: {url}: {reason}: spans are dropped until the collector takes them"
            );
            (LogLevel::Warn, text)
        }
        ExportReport::Overrun { url } => {
            let text = format!(
                "TraceExport: {url}: requests end faster than the collector takes their spans: \
                 spans are dropped"
            );
            (LogLevel::Warn, text)
        }
        ExportReport::Recovered { url, lost } => {
            let text = format!(
                "TraceExport: {url}: the collector takes all spans again; {lost} were dropped"
            );
            (LogLevel::Notice, text)
        }
    }
}

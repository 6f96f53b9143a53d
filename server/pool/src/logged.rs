//! What a worker says of its request for the access line, and whether the line waits for more.
//!
//! `records` adds what arrives. The front applies it and waits for the Log handlers.

use crate::call::RequestChanges;
use crate::payload::{declined, pairs, Broken, RecordRefusal};
use mehari_wire::layout::record;
use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// What handlers have changed in a request, for the access line. `None` and empty: unchanged.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LogChanges {
    pub request: RequestChanges,
    pub user: Option<Vec<u8>>,
    pub notes: Vec<(Vec<u8>, Vec<u8>)>,
    /// The decoded path.
    pub path: Option<Vec<u8>>,
    pub file: Option<Vec<u8>>,
    pub method: Option<Vec<u8>>,
    pub status: Option<u16>,
    /// The fields of the response.
    pub answered: Vec<(Vec<u8>, Vec<u8>)>,
}

/// What a worker says for the access line of one request. Front and pool share the value, which
/// outlives the exchange, because Log handlers run after the response.
#[derive(Clone, Default)]
pub struct LogReport(Rc<RefCell<ReportState>>);

#[derive(Default)]
struct ReportState {
    said: Option<Box<LogChanges>>,
    waits: bool,
    waker: Option<Waker>,
}

impl LogReport {
    /// Takes a `LOGGED` record. What the worker says last counts.
    pub(crate) fn take_record(&self, detail: u16, payload: &[u8]) -> Result<(), Broken> {
        let said = read(payload)?;
        match detail {
            record::LOGGED_LATER => self.0.borrow_mut().waits = true,
            record::LOGGED_NOW => {}
            record::LOGGED_LAST => self.end(),
            _ => return Err(Broken("a report of no known kind for the access log")),
        }
        if said != LogChanges::default() {
            self.0.borrow_mut().said = Some(Box::new(said));
        }
        Ok(())
    }

    /// Notes that the worker says no more.
    pub(crate) fn end(&self) {
        let mut report = self.0.borrow_mut();
        report.waits = false;
        if let Some(waker) = report.waker.take() {
            waker.wake();
        }
    }

    /// Whether Log handlers have still to run.
    pub fn waits(&self) -> bool {
        self.0.borrow().waits
    }

    /// Waits for the end of the Log handlers, or of the worker.
    pub fn poll_end(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut report = self.0.borrow_mut();
        if !report.waits {
            return Poll::Ready(());
        }
        report.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Returns what the worker has said, only once.
    pub fn take(&self) -> Option<Box<LogChanges>> {
        self.0.borrow_mut().said.take()
    }

    pub fn is(&self, other: &LogReport) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

/// Reads the parts of a `LOGGED` record. The parts that `PASS` has too are read and checked by the
/// reader of `PASS`. Changes that could not be sent to a back end are left out.
fn read(mut payload: &[u8]) -> Result<LogChanges, Broken> {
    const WRONG: Broken = Broken("a report in unknown parts for the access log");
    let mut said = LogChanges::default();
    let mut of_request = Vec::new();
    while let Some((kind, rest)) = payload.split_first() {
        let (length, rest) = rest.split_first_chunk::<4>().ok_or(WRONG)?;
        let length = u32::from_ne_bytes(*length) as usize;
        let (part, rest) = rest.split_at_checked(length).ok_or(WRONG)?;
        let whole = &payload[..payload.len() - rest.len()];
        payload = rest;
        match *kind {
            record::PASS_USER => said.user = Some(part.to_vec()),
            record::PASS_TARGET => said.path = Some(part.to_vec()),
            record::PASS_FILE => said.file = Some(part.to_vec()),
            record::PASS_METHOD => said.method = Some(part.to_vec()),
            record::PASS_NOTES => said.notes = pairs(part)?,
            record::PASS_ANSWERED => said.answered = pairs(part)?,
            record::PASS_STATUS => {
                let status = part.try_into().map_err(|_| WRONG)?;
                said.status = Some(u16::from_ne_bytes(status));
            }
            _ => of_request.extend_from_slice(whole),
        }
    }
    match declined(0, &of_request, &mut false) {
        Ok(declined) => said.request = declined.changes,
        Err(RecordRefusal::Head(_)) => {}
        Err(RecordRefusal::Record(broken)) => return Err(broken),
    }
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(kind: u8, bytes: &[u8]) -> Vec<u8> {
        let length = u32::try_from(bytes.len()).expect("short");
        [&[kind][..], &length.to_ne_bytes(), bytes].concat()
    }

    #[test]
    fn parts_of_the_access_line_are_read() {
        let payload = [
            part(record::PASS_NOTES, b"Said\0a note\0"),
            part(record::PASS_STATUS, &202_u16.to_ne_bytes()),
            part(record::PASS_VARIABLES, b"A\0b\0"),
        ]
        .concat();
        let said = read(&payload).expect("sound");
        assert_eq!(said.notes, [(b"Said".to_vec(), b"a note".to_vec())]);
        assert_eq!(said.status, Some(202));
        assert_eq!(said.request.variables, [(b"A".to_vec(), b"b".to_vec())]);
        for wrong in [
            &b"s\x01\0\0\0\x01"[..],
            b"o\x05\0\0\0ab",
            b"o\x02\0\0\0ab",
            b"?\0\0\0\0",
        ] {
            assert!(read(wrong).is_err(), "{}", wrong.escape_ascii());
        }
    }

    #[test]
    fn what_was_said_last_counts_and_the_end_is_noticed() {
        let report = LogReport::default();
        let later = report.take_record(record::LOGGED_LATER, &part(record::PASS_METHOD, b"PUT"));
        assert!(later.is_ok() && report.waits());
        assert!(report.take_record(record::LOGGED_LAST, b"").is_ok() && !report.waits());
        let said = report.take().expect("said");
        assert_eq!(said.method.as_deref(), Some(&b"PUT"[..]));
        assert!(report.take_record(9, b"").is_err());
    }
}

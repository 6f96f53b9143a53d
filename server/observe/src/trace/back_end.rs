//! What a timeline knows of the request to a back end for which the front waited.

use super::Trace;

/// A request to a member of a back end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackEndCall {
    /// The index of the front's part that is the wait. Several calls have the same part if the
    /// request was given to another member.
    pub part: usize,
    /// `http`, `https`, `fcgi`, `scgi` or `uwsgi`.
    pub scheme: &'static str,
    /// A name, an address, or the path of a local socket. Empty: no member was chosen.
    pub address: String,
    pub port: Option<u16>,
    /// The method, for HTTP.
    pub method: String,
    /// The URL without its query, for HTTP.
    pub url: Option<String>,
    /// 0: there was no response.
    pub status: u16,
    /// Why there was no response.
    pub failure: Option<&'static str>,
}

impl Trace {
    /// Notes that the front asks a back end from now on.
    pub fn note_call(&self, call: BackEndCall) {
        let mut timeline = self.timeline.borrow_mut();
        let part = timeline.front.len();
        timeline.calls.push(BackEndCall { part, ..call });
    }

    /// Notes the status with which the back end has responded.
    pub fn note_call_status(&self, status: u16) {
        if let Some(call) = self.timeline.borrow_mut().calls.last_mut() {
            call.status = status;
        }
    }

    /// Notes why no back end has responded.
    pub fn note_call_failure(&self, failure: &'static str) {
        let is_of_part = {
            let timeline = self.timeline.borrow();
            let last = timeline.calls.last();
            last.is_some_and(|call| call.part == timeline.front.len())
        };
        if !is_of_part {
            self.note_call(BackEndCall::default());
        }
        if let Some(call) = self.timeline.borrow_mut().calls.last_mut() {
            call.failure = Some(failure);
        }
    }
}

//! Calls that requests put off until after their responses (`$r->after_response`), and the counts
//! of what became of them. `deferred` takes and makes the calls.

use crate::arrived::Shared;
use crate::payload::Broken;
use mehari_config::TeamMark;
use mehari_wire::layout::record;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The bit that marks the request number of a deferred call. The other bits are the number of the
/// request that deferred the call. The front's own numbers never come near this bit.
const MARK: u64 = 1 << 62;
/// The most code references that a sound worker keeps for a request.
const KEPT_MOST: u32 = 100;
/// The longest name of a sub, in bytes.
const LONGEST_NAME: usize = 1000;

/// Returns the request number of a call that a request defers.
pub fn number_of_call(request_id: u64) -> u64 {
    request_id | MARK
}

/// Whether the number is that of a deferred call.
pub fn is_call(request_id: u64) -> bool {
    request_id >> 62 == 1
}

/// Returns the number of the request itself, for the log.
pub fn deferring_request(request_id: u64) -> u64 {
    if is_call(request_id) {
        request_id & !MARK
    } else {
        request_id
    }
}

/// The call of a named sub.
#[derive(Debug)]
pub struct DeferredCall {
    pub name: Box<[u8]>,
    /// The arguments as the worker has frozen them.
    pub arguments: Box<[u8]>,
    /// The number of the request that has deferred the call.
    pub request_id: u64,
    /// The number of the virtual host, whose log gets the messages about the call.
    pub host: u32,
    pub team: TeamMark,
    pub deferred: Instant,
}

impl DeferredCall {
    /// Reads the payload of a worker's record: the name, NUL, the arguments.
    pub fn read(payload: &[u8], request_id: u64, host: u32) -> Result<DeferredCall, Broken> {
        let end = payload.iter().position(|byte| *byte == 0);
        let (name, rest) = payload.split_at(end.unwrap_or(0));
        let is_sound = |byte: &u8| byte.is_ascii_alphanumeric() || b"_:".contains(byte);
        if name.is_empty() || name.len() > LONGEST_NAME || !name.iter().all(is_sound) {
            return Err(Broken("of a deferred call without the name of a sub"));
        }
        Ok(DeferredCall {
            name: name.into(),
            arguments: rest[1..].into(),
            request_id,
            host,
            team: TeamMark::default(),
            deferred: Instant::now(),
        })
    }

    pub fn bytes(&self) -> usize {
        self.name.len() + self.arguments.len() + std::mem::size_of::<DeferredCall>()
    }

    pub fn shown_name(&self) -> String {
        String::from_utf8_lossy(&self.name).into_owned()
    }
}

/// What a running request has deferred.
#[derive(Debug, Default)]
pub struct Deferring {
    pub calls: Vec<DeferredCall>,
    /// The number of code references that the worker keeps and has not finished.
    pub kept: u32,
    /// Whether the worker calls kept code now.
    pub runs_code: bool,
    /// How long the request took before the first call of kept code.
    pub served_in: Option<Duration>,
}

impl Deferring {
    /// Notes what the worker says of kept code.
    pub fn note(&mut self, detail: u16, totals: &mut DeferredTotals) -> Result<(), Broken> {
        match detail {
            record::DEFER_KEPT if self.kept < KEPT_MOST => {
                self.kept += 1;
                totals.accepted += 1;
            }
            record::DEFER_BEGUN if !self.runs_code && self.kept > 0 => self.runs_code = true,
            record::DEFER_DONE | record::DEFER_FAILED if self.runs_code => {
                self.runs_code = false;
                self.kept -= 1;
                totals.done += u64::from(detail == record::DEFER_DONE);
                totals.failed += u64::from(detail == record::DEFER_FAILED);
            }
            _ => return Err(Broken("about code that it does not keep")),
        }
        Ok(())
    }

    /// Returns the number of kept code references that the worker has not begun to call.
    pub fn unbegun(&self) -> usize {
        self.kept as usize - usize::from(self.runs_code)
    }
}

/// The pool's knowledge of deferred calls of named subs. The teams have the waiting calls.
#[derive(Default)]
pub struct Deferred {
    /// The number of calls that no worker has got, with those whose requests are not over.
    pub waiting: usize,
    /// The bytes of these calls.
    pub bytes: usize,
    pub running: usize,
    /// Calls that workers have got and that nobody follows yet.
    pub begun: Vec<(DeferredCall, Shared)>,
    /// Notified when there are such calls.
    pub changed: Rc<Notify>,
    /// Counts of all calls, also of kept code.
    pub totals: DeferredTotals,
}

/// Counts of deferred calls since the start.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct DeferredTotals {
    /// All calls below except `refused`, and those that wait or run.
    pub accepted: u64,
    pub done: u64,
    /// The call died.
    pub failed: u64,
    /// The call ran longer than `DeferredCallTimeout`.
    pub timed_out: u64,
    /// The call's worker died.
    pub lost: u64,
    /// The server ended before the call was made.
    pub dropped: u64,
    /// There was no room for the call, and its request knows that.
    pub refused: u64,
}

/// Deferred calls, for `mehari status`.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct DeferredStatus {
    pub waiting: usize,
    /// Bytes of the waiting calls of named subs.
    pub waiting_bytes: usize,
    pub running: usize,
    #[serde(flatten)]
    pub totals: DeferredTotals,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_has_the_name_of_a_sub_and_arguments() {
        let call = DeferredCall::read(b"My::Mail::send\0\x05\0\x01", 7, 2).expect("sound");
        assert_eq!(call.shown_name(), "My::Mail::send");
        assert_eq!(&*call.arguments, b"\x05\0\x01");
        assert_eq!((call.request_id, call.host), (7, 2));
        let long = [vec![b'a'; LONGEST_NAME + 1], vec![0]].concat();
        for broken in [&b""[..], b"\0", b"no_end", b"a b\0", b"a\n::b\0x", &long] {
            assert!(DeferredCall::read(broken, 1, 0).is_err(), "{broken:?}");
        }
    }

    #[test]
    fn code_is_kept_begun_and_ended_in_this_order() {
        use record::{DEFER_BEGUN as BEGUN, DEFER_DONE as DONE, DEFER_FAILED as FAILED};
        const KEPT: u16 = record::DEFER_KEPT;
        let noted = |details: &[u16]| {
            let (mut deferring, mut totals) = (Deferring::default(), DeferredTotals::default());
            let mut details = details.iter();
            details
                .try_for_each(|detail| deferring.note(*detail, &mut totals))
                .map(|()| (deferring.unbegun(), totals))
                .map_err(|broken| broken.0)
        };
        let (unbegun, totals) =
            noted(&[KEPT, KEPT, BEGUN, KEPT, DONE, BEGUN, FAILED]).expect("sound");
        assert_eq!(
            (unbegun, totals.accepted, totals.done, totals.failed),
            (1, 3, 1, 1)
        );
        let too_many = [KEPT; KEPT_MOST as usize + 1];
        for broken in [
            &[BEGUN][..],
            &[KEPT, DONE],
            &[KEPT, BEGUN, BEGUN],
            &[KEPT, BEGUN, DONE, FAILED],
            &[KEPT, 99],
            &too_many,
        ] {
            assert!(noted(broken).is_err(), "{broken:?}");
        }
    }

    #[test]
    fn number_of_a_call_leads_back_to_its_request() {
        let call = number_of_call(41);
        assert!(is_call(call) && !is_call(41) && !is_call(1 << 63));
        assert_eq!(number_of_call(call), call);
        assert_eq!((deferring_request(call), deferring_request(41)), (41, 41));
        assert_eq!(deferring_request(1 << 63 | 5), 1 << 63 | 5);
    }
}

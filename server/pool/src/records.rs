//! Takes a worker's records for a request: checks the order of the records, and adds each record to
//! the response.

use crate::arrived::Arrived;
use crate::call::{Fault, Head};
use crate::payload::{declined, head, named, read_lines, split_lines, Broken, RecordRefusal};
use crate::script_head::ScriptHead;
use crate::tap::WorkerProgress;
use crate::worker::HeldRequest;
use mehari_wire::layout::record;
use mehari_wire::Record;

/// The most interim heads that may wait for the client.
const INTERIM_MOST: usize = 64;

impl HeldRequest {
    /// Checks that a record of this kind may come next.
    pub fn expects(&self, kind: u16) -> Result<(), Broken> {
        // Log handlers run after the response.
        if self.ended && kind != record::LOGGED {
            return Err(Broken("a record after the end of its response"));
        }
        let is_next = match kind {
            record::RESPONSE | record::HEAD => !self.head_seen,
            record::PASS => !self.head_seen && !self.fetched,
            record::FETCH | record::RULES => !self.head_seen && !self.tapped && !self.fetched,
            record::BODY => self.head_seen && !self.tapped,
            record::END => self.head_seen || self.tapped,
            record::TAP => !self.tapped,
            _ => true,
        };
        if is_next {
            Ok(())
        } else {
            Err(Broken("the records of a response out of order"))
        }
    }

    /// Takes an expected record. `TAP` is handled elsewhere, because a descriptor belongs to it.
    pub fn take(&mut self, record: Record, payload: &[u8]) -> Result<(), RecordRefusal> {
        let mut arrived = self.owed.arrived();
        if record.kind == record::LOGGED {
            let log = arrived.log.get_or_insert_default();
            return Ok(log.take_record(record.detail, payload)?);
        }
        match (arrived.gone, record.kind) {
            (false, _) => arrived.take(record, payload),
            // The worker may wait for the outcome of the response.
            (true, record::PASS | record::FETCH) => {
                declined(record.detail, payload, &mut arrived.listens).map(drop)
            }
            (true, record::RULES) => {
                arrived.asks = true;
                Ok(())
            }
            (true, _) => Ok(()),
        }
    }

    /// Notes that a record was taken, or was sound with a refused head.
    pub fn has_taken(&mut self, kind: u16) {
        let is_whole = matches!(kind, record::RESPONSE | record::PASS);
        self.head_seen |= is_whole || kind == record::HEAD;
        self.tapped |= kind == record::TAP;
        self.fetched |= kind == record::FETCH;
        self.ended |= is_whole || kind == record::END;
        self.owed.arrived().wake();
    }
}

impl Arrived {
    fn take(&mut self, record: Record, payload: &[u8]) -> Result<(), RecordRefusal> {
        match record.kind {
            record::RESPONSE => self.take_response(record.detail, payload)?,
            record::HEAD => self.head = Some(head(record.detail, payload)?),
            // Interim heads may be dropped (RFC 9110 section 15.2).
            record::INTERIM if self.interim.len() >= INTERIM_MOST => {}
            record::INTERIM => {
                let mut interim = Head {
                    status: record.detail,
                    ..Head::default()
                };
                read_lines(&mut interim, payload)?;
                self.interim.push_back(interim);
            }
            record::PASS => {
                let mut declined = declined(record.detail, payload, &mut self.listens)?;
                declined.told = self.told.take();
                self.head = Some(ScriptHead::Declined(Box::new(declined)));
                self.complete = !self.tapped;
                // The head from the pipe may already have been sent. In this case the bytes that
                // have arrived are the response.
                self.said = WorkerProgress::Ended;
            }
            record::FETCH => {
                let mut declined = declined(0, payload, &mut self.listens)?;
                declined.told = self.told.take();
                self.head = Some(ScriptHead::Declined(Box::new(declined)));
            }
            record::USER => self.told().user = Some(named(record.detail, payload)?),
            // Changes that could not be sent to a back end concern nobody, because Perl responds.
            record::CHANGED => match declined(0, payload, &mut self.listens) {
                Ok(declined) => {
                    let told = self.told();
                    told.changes = declined.changes;
                    told.moved = declined.moved.map(|target| (target, declined.file));
                }
                Err(RecordRefusal::Head(_)) => {}
                Err(broken) => return Err(broken),
            },
            record::RULES => {
                self.asks = true;
                let declined = declined(0, payload, &mut self.listens)?;
                let told = self.told();
                told.changes = declined.changes;
                told.moved = declined.target.map(|target| (target, declined.file));
                self.head = Some(ScriptHead::Rules(record.detail));
            }
            record::BODY => self.body.extend_from_slice(payload),
            record::END if record.detail & record::END_BROKEN != 0 => self.fail(Fault::CutOff),
            record::END if self.tapped => {
                self.said = if record.detail & record::END_DETACHED != 0 {
                    WorkerProgress::Detached
                } else {
                    WorkerProgress::Ended
                }
            }
            record::END => self.complete = true,
            _ => return Err(Broken("a record of no known kind").into()),
        }
        Ok(())
    }

    fn take_response(&mut self, status: u16, payload: &[u8]) -> Result<(), RecordRefusal> {
        let (lines, body) = split_lines(payload)?;
        // A status without lines and body is the worker's refusal. The front has its own pages for
        // refusals.
        if lines.is_empty() && body.is_empty() && (400..=599).contains(&status) {
            self.fail(Fault::Status(status));
            return Ok(());
        }
        if self.tapped {
            return Err(Broken("a complete response although a pipe carries it").into());
        }
        self.head = Some(head(status, lines)?);
        self.body.extend_from_slice(body);
        self.complete = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::probe::records;
    use mehari_wire::layout::record::{
        BODY, END, HEAD, INTERIM, LOGGED, PASS, RESPONSE, TAP, TAP_PARSE, USER,
    };

    const LENGTH: &[u8] = b"Content-Length: abc\r\n";

    fn response(lines: &[u8]) -> Vec<u8> {
        let length = u32::try_from(lines.len()).expect("short");
        [&length.to_ne_bytes(), lines, b"body"].concat()
    }

    /// Takes records as the pool does. `probe::records` asserts that the request is answered.
    fn taken(all: &[(u16, u16, &[u8])]) -> Result<(), &'static str> {
        records(all.iter().copied())
    }

    #[test]
    fn a_refused_head_is_answered_and_the_worker_goes_on() {
        let refused = response(LENGTH);
        for all in [
            &[(RESPONSE, 200, &refused[..])][..],
            &[(RESPONSE, 999, &response(b""))],
            &[(HEAD, 200, LENGTH), (BODY, 0, b"body"), (END, 0, b"")],
            &[(HEAD, 200, LENGTH), (BODY, 0, b"body"), (END, 1, b"")],
            &[(INTERIM, 103, LENGTH), (RESPONSE, 200, &refused)],
            &[(PASS, 99, b"")],
            &[(USER, 0, b"ann"), (PASS, 0, b"t\x01\0\0\0\x01")],
        ] {
            assert_eq!(taken(all), Ok(()), "{all:?}");
        }
    }

    #[test]
    fn records_that_no_sound_worker_writes_replace_the_worker_and_are_answered() {
        let whole = response(b"X-A: b\r\n");
        for all in [
            &[][..],
            &[(RESPONSE, 200, &b"\x09\0\0\0short"[..])],
            &[(RESPONSE, 200, b"")],
            &[(RESPONSE, 200, &response(b"X-A: b"))],
            &[(RESPONSE, 200, &whole), (RESPONSE, 200, &whole)],
            &[(HEAD, 200, b"X-A: b\r\n"), (HEAD, 200, b"")],
            &[(BODY, 0, b"body")],
            &[(END, 0, b"")],
            &[(USER, 9, b"ann")],
            &[(TAP, TAP_PARSE, b""), (RESPONSE, 200, &whole)],
            &[(TAP, TAP_PARSE, b""), (TAP, TAP_PARSE, b"")],
            &[(TAP, TAP_PARSE, b""), (END, 0, b""), (BODY, 0, b"")],
            &[(99, 0, b"")],
            &[(LOGGED, 9, b"")],
            &[(LOGGED, 0, b"?")],
        ] {
            assert_eq!(taken(all).is_err(), !all.is_empty(), "{all:?}");
        }
    }

    #[test]
    fn interim_heads_beyond_the_limit_are_dropped() {
        let mut all = vec![(INTERIM, 103, &b"Link: <a>\r\n"[..]); 1000];
        let end = response(b"");
        all.push((RESPONSE, 200, &end));
        assert_eq!(taken(&all), Ok(()));
    }
}

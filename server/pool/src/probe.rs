//! Lets the fuzzer call the front's reader of a worker's records with any bytes.

use crate::arrived::{Arrived, Owed};
use crate::call::{Fault, Head, TimeLimits};
use crate::payload::RecordRefusal;
use crate::script_head::ScriptHead;
use crate::worker::{HeldRequest, Tries};
use mehari_wire::layout::record;
use mehari_wire::Record;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

/// Takes records as the front does. Each record has a kind, a detail and a payload.
///
/// # Errors
///
/// Returns the reason for which the worker would be replaced.
///
/// # Panics
///
/// Panics if the request is not answered after its end. The fuzz target looks for this fault.
pub fn records<'a>(
    records: impl Iterator<Item = (u16, u16, &'a [u8])>,
) -> Result<(), &'static str> {
    let arrived = Rc::new(RefCell::new(Arrived::new(Instant::now())));
    let mut held = HeldRequest {
        owed: Owed::of(&arrived),
        request_id: 1,
        host: 0,
        frame_length: 0,
        body_file: None,
        timeout: TimeLimits::default(),
        tries: Tries::default(),
        script: None,
        ended: false,
        head_seen: false,
        tapped: false,
        fetched: false,
        deferring: Default::default(),
    };
    let taken = take_all(&mut held, records);
    if held.ended {
        let arrived = arrived.borrow();
        assert!(
            arrived.is_answered(),
            "the records have ended without an answer"
        );
    }
    drop(held);
    let arrived = arrived.borrow();
    assert!(arrived.is_answered(), "DONE has arrived without an answer");
    if let Some(ScriptHead::Response(head)) = &arrived.head {
        check(head);
    }
    taken
}

fn take_all<'a>(
    held: &mut HeldRequest,
    records: impl Iterator<Item = (u16, u16, &'a [u8])>,
) -> Result<(), &'static str> {
    for (kind, detail, payload) in records {
        held.expects(kind).map_err(|broken| broken.0)?;
        let record = Record {
            kind,
            detail,
            length: payload.len(),
            size: 0,
        };
        let taken = match kind {
            record::TAP => {
                held.owed.arrived().tapped = true;
                Ok(())
            }
            _ => held.take(record, payload),
        };
        match taken {
            Ok(()) => {}
            Err(RecordRefusal::Record(broken)) => return Err(broken.0),
            Err(RecordRefusal::Head(_)) => held.owed.arrived().fail(Fault::BadHeader),
        }
        held.has_taken(kind);
    }
    Ok(())
}

fn check(head: &Head) {
    assert!((200..=599).contains(&head.status), "status {}", head.status);
    let Some(text) = head.lines.strip_suffix(b"\r\n") else {
        return assert!(head.lines.is_empty(), "header lines without their end");
    };
    for line in text.split(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let is_sound = |byte: &u8| *byte == b'\t' || *byte >= b' ' && *byte != 0x7f;
        assert!(line.iter().all(is_sound), "a line that splits");
        assert!(line.contains(&b':'), "a line that is not a field");
    }
}

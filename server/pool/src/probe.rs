//! Lets the fuzzer call the front's reader of a worker's records with any bytes.

use crate::arrived::{Arrived, Owed};
use crate::call::{Fault, Head, SubrequestQuestion, TimeLimits};
use crate::page::{NextActions, PageAction, PageRenderer, Pages, RenderedPage};
use crate::payload::{page_step, question, RecordRefusal};
use crate::script_head::ScriptHead;
use crate::worker::{HeldRequest, Tries};
use mehari_wire::layout::{record, ANSWER_SIZE};
use mehari_wire::Record;
use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
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
        log_level: None,
        tries: Tries::default(),
        script: None,
        ended: false,
        head_seen: false,
        tapped: false,
        fetched: false,
        has_open_question: false,
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
    let mut pages = Pages::default();
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
            // A refused question is only answered.
            record::ASK => match question(detail, payload) {
                Ok(_) | Err(RecordRefusal::Head(_)) => Ok(()),
                Err(broken) => Err(broken),
            },
            record::PAGE => match go_on(&mut pages, detail, payload) {
                Ok(()) | Err(RecordRefusal::Head(_)) => Ok(()),
                Err(broken) => Err(broken),
            },
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

/// A page of two parts: a text that needs several answers, and a part that must run.
struct LongPage;

impl RenderedPage for LongPage {
    fn next(&mut self, status: u16) -> NextActions<'_> {
        let text = PageAction::print(vec![b'x'; 2 * ANSWER_SIZE]);
        let last = match status {
            0 => PageAction::run(b"/part".to_vec()),
            failed => Some(PageAction::end(failed)),
        };
        Box::pin(async { [Some(text), last].into_iter().flatten().collect() })
    }

    fn include(&self, question: SubrequestQuestion<'_>) -> Option<Box<dyn RenderedPage>> {
        begin(question)
    }
}

fn begin(question: SubrequestQuestion<'_>) -> Option<Box<dyn RenderedPage>> {
    question.file.map(|_| Box::new(LongPage) as _)
}

/// Takes a step of a page, and writes the answer.
fn go_on(pages: &mut Pages, detail: u16, payload: &[u8]) -> Result<(), RecordRefusal> {
    let step = page_step(detail, payload)?;
    let Some(status) = pages.take(
        step,
        &PageRenderer::new(begin, |_| Some(Box::new(LongPage))),
    ) else {
        *pages = Pages::default();
        return Ok(());
    };
    let mut room = vec![0; ANSWER_SIZE];
    let going = pin!(pages.go_on(status)).poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(going, Poll::Ready(()), "the page waits");
    pages.write(&mut room);
    let written = room.first_chunk().map(|length| u32::from_ne_bytes(*length));
    let within = |length| (9..=ANSWER_SIZE).contains(&length);
    assert!(written.is_some_and(|length| within(length as usize)));
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

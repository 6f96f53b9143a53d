//! Writes the spans of requests as a collector gets them, each below its parent.
//!
//! The span of the request is the server's. The front's parts are its children. The parts of a
//! worker lie below each other as they lie within each other in time, and the outermost is a child
//! of the request's span: it may end after the response, because the worker cleans up. Workers are
//! not trusted: a part is cut to the time of the request.

use super::json::{self, number_key, text_key, Attributes, Key};
use super::parts::SpanSubject;
use super::{ExportedRequest, SpanIdentity};
use crate::trace::now;
use mehari_text::hex;
use std::time::{SystemTime, UNIX_EPOCH};

/// About the bytes of a span, for the room that a batch needs.
const USUAL_BYTES: usize = 400;

/// A span with its place among the others of its request.
struct Span<'a> {
    id: u64,
    parent: Option<u64>,
    from: u64,
    until: u64,
    part: SpanSubject<'a>,
}

/// Returns the beginning of each document: what sends the spans. The rest of the document are the
/// spans and `END`.
pub fn beginning(service: &str) -> Vec<u8> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname");
    let mut out = b"{\"resourceSpans\":[{\"resource\":{".to_vec();
    let mut resource = Attributes::begin(&mut out);
    resource.text(text_key!("service.name"), service);
    resource.text(text_key!("host.name"), host.unwrap_or_default().trim());
    resource.number(number_key!("process.pid"), std::process::id());
    resource.word(text_key!("telemetry.sdk.name"), "mehari");
    resource.word(text_key!("telemetry.sdk.language"), "rust");
    resource.word(
        text_key!("telemetry.sdk.version"),
        env!("CARGO_PKG_VERSION"),
    );
    resource.end();
    out.extend_from_slice(b"},\"scopeSpans\":[{\"scope\":{\"name\":\"mehari\",\"version\":");
    json::plain(&mut out, env!("CARGO_PKG_VERSION").as_bytes());
    out.extend_from_slice(b"},\"spans\":[");
    out
}

const END: &[u8] = b"]}]}]}";

/// Returns the body of a request to a collector.
pub fn document(beginning: &[u8], batch: &[ExportedRequest]) -> Vec<u8> {
    let clock = Clock::read();
    let spans: u64 = batch.iter().map(ExportedRequest::spans).sum();
    let room = beginning.len() + spans as usize * USUAL_BYTES + END.len();
    let mut out = Vec::with_capacity(room);
    out.extend_from_slice(beginning);
    for request in batch {
        write_request(&mut out, request, &clock);
    }
    if out.last() == Some(&b',') {
        out.pop();
    }
    out.extend_from_slice(END);
    out
}

/// The difference between the time of day and the clock of the timelines.
struct Clock {
    offset: u64,
}

impl Clock {
    fn read() -> Clock {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanoseconds = u64::try_from(since.unwrap_or_default().as_nanos());
        Clock {
            offset: nanoseconds.unwrap_or_default().saturating_sub(now()),
        }
    }

    fn time_of_day(&self, time: u64) -> u64 {
        time.saturating_add(self.offset)
    }
}

/// Writes the spans of a request, a comma after each.
fn write_request(out: &mut Vec<u8>, request: &ExportedRequest, clock: &Clock) {
    let mut beginning = Beginning::of(request.request.identity.trace);
    for span in &spans(request) {
        beginning.set(span, clock);
        if let Some(name) = span.part.plain_name() {
            beginning.write_plain(out, name);
            continue;
        }
        beginning.write(out, span.parent.is_some());
        if let (SpanSubject::Whole(_), Some(state)) = (span.part, &request.request.state) {
            out.extend_from_slice(b"\"traceState\":");
            json::text(out, state);
            out.push(b',');
        }
        span.part.write(out);
        out.extend_from_slice(b"},");
    }
}

/// The members that each span has. Only numbers and times differ, so the next span's are written
/// over those of the last one, as far as they differ.
struct Beginning {
    text: [u8; BEGINNING.len()],
    /// What is in the text.
    parent: u64,
    until: u64,
    /// The higher digits of the time in the text at which the last span ends.
    until_high: u64,
}

/// The members up to the name of a part of the server itself.
const BEGINNING: &str = concat!(
    "{\"traceId\":\"00000000000000000000000000000000\"",
    ",\"spanId\":\"0000000000000000\"",
    ",\"parentSpanId\":\"0000000000000000\"",
    ",\"startTimeUnixNano\":\"0000000000000000000\"",
    ",\"endTimeUnixNano\":\"0000000000000000000\",",
    "\"kind\":1,\"name\":\""
);
/// The positions of the values in the text.
const TRACE: usize = "{\"traceId\":\"".len();
const SPAN: usize = TRACE + 32 + "\",\"spanId\":\"".len();
const PARENT: usize = SPAN + 16 + "\",\"parentSpanId\":\"".len();
const FROM: usize = PARENT + 16 + "\",\"startTimeUnixNano\":\"".len();
const UNTIL: usize = FROM + 19 + "\",\"endTimeUnixNano\":\"".len();
/// Where the kind begins.
const KIND: usize = UNTIL + 19 + "\",".len();
/// The member of the parent, with its comma.
const PARENTS_MEMBER: std::ops::Range<usize> = SPAN + 17..PARENT + 17;

impl Beginning {
    fn of(trace: u128) -> Beginning {
        let mut text = [0; BEGINNING.len()];
        text.copy_from_slice(BEGINNING.as_bytes());
        let mut beginning = Beginning {
            text,
            parent: 0,
            until: 0,
            until_high: 0,
        };
        *beginning.at::<TRACE, 16>() = hex::sixteen_lower((trace >> 64) as u64);
        *beginning.at::<{ TRACE + 16 }, 16>() = hex::sixteen_lower(trace as u64);
        beginning
    }

    /// Returns the place of a value.
    #[inline(always)]
    fn at<const START: usize, const LENGTH: usize>(&mut self) -> &mut [u8; LENGTH] {
        let place = self.text[START..].first_chunk_mut::<LENGTH>();
        place.expect("the text has all values")
    }

    /// Sets the numbers and times of a span.
    #[inline]
    fn set(&mut self, span: &Span<'_>, clock: &Clock) {
        *self.at::<SPAN, 16>() = hex::sixteen_lower(span.id);
        // Most spans begin when the last one has ended.
        if span.from == self.until {
            self.text.copy_within(UNTIL..UNTIL + 19, FROM);
        } else {
            *self.at::<FROM, 19>() = json::nanoseconds(clock.time_of_day(span.from));
        }
        self.set_until(span.until, clock.time_of_day(span.until));
        if let Some(parent) = span.parent.filter(|parent| *parent != self.parent) {
            *self.at::<PARENT, 16>() = hex::sixteen_lower(parent);
            self.parent = parent;
        }
    }

    /// Sets the time at which the span ends. The higher digits are mostly those of the last span.
    #[inline]
    fn set_until(&mut self, until: u64, time_of_day: u64) {
        self.until = until;
        let high = time_of_day / json::LOW;
        if high == self.until_high {
            *self.at::<{ UNTIL + 11 }, 8>() = json::eight_digits(time_of_day % json::LOW);
        } else {
            *self.at::<UNTIL, 19>() = json::nanoseconds(time_of_day);
            self.until_high = high;
        }
    }

    /// Writes the members up to the kind.
    fn write(&self, out: &mut Vec<u8>, has_parent: bool) {
        if has_parent {
            return out.extend_from_slice(&self.text[..KIND]);
        }
        out.extend_from_slice(&self.text[..PARENTS_MEMBER.start]);
        out.extend_from_slice(&self.text[PARENTS_MEMBER.end..KIND]);
    }

    /// Writes a span that has a parent, a name without escapes and nothing else.
    #[inline]
    fn write_plain(&self, out: &mut Vec<u8>, name: &str) {
        const END: &[u8] = b"\"},";
        out.reserve(self.text.len() + name.len() + END.len());
        out.extend_from_slice(&self.text);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(END);
    }
}

/// Returns the spans of a request, the request's own first.
fn spans(request: &ExportedRequest) -> Vec<Span<'_>> {
    let (timeline, identity) = (&request.timeline, &request.request.identity);
    let mut all = Vec::with_capacity(request.spans() as usize);
    let ends = timeline.front.last();
    all.push(Span {
        id: identity.span,
        parent: identity.parent,
        from: timeline.began,
        until: ends.map_or(timeline.began, |part| part.until),
        part: SpanSubject::Whole(request),
    });
    let mut index = 0;
    let mut add = |part, from, until| {
        index += 1;
        all.push(Span {
            id: SpanIdentity::below(identity.span, index),
            parent: Some(identity.span),
            from,
            until,
            part,
        });
    };
    let mut from = timeline.began;
    for (index, part) in timeline.front.iter().enumerate() {
        // The last one counts: earlier members have not answered.
        let call = timeline.calls.iter().rfind(|call| call.part == index);
        add(SpanSubject::Front(part, call), from, part.until);
        from = part.until;
    }
    let front = 1 + timeline.front.len();
    for wait in timeline.queued.iter().filter(|wait| wait.until > 0) {
        add(SpanSubject::Queue, wait.from, wait.until);
    }
    let (began, ended) = (timeline.began, request.ended.max(timeline.began));
    for part in &timeline.perl {
        let from = part.from.clamp(began, ended);
        add(SpanSubject::Perl(part), from, part.until.clamp(from, ended));
    }
    if let Some(inner) = inner(&all) {
        all[inner].id = identity.inner;
    }
    find_parents(&mut all, front);
    all
}

/// Returns the index of the span that programs and back ends know as their parent.
fn inner(all: &[Span<'_>]) -> Option<usize> {
    let ranks = all.iter().map(|span| span.part.rank_as_inner());
    // The first of the highest rank.
    let (index, rank) = ranks.enumerate().rev().max_by_key(|(_, rank)| *rank)?;
    (rank > 0).then_some(index)
}

/// Sets the parents of all spans that do not belong to the request's own span. The first `front`
/// spans are the request's and those of the front's parts, which have their parents.
fn find_parents(all: &mut [Span<'_>], front: usize) {
    let (own, inner) = all.split_at_mut(front);
    if inner.is_empty() {
        return;
    }
    let mut order: Vec<&mut Span<'_>> = inner.iter_mut().collect();
    order.sort_by_key(|span| (span.from, std::cmp::Reverse(span.until)));
    // The spans that are open at the time of the next span, the innermost last.
    let mut open: Vec<(u64, u64)> = Vec::new();
    for span in order {
        let is_queue = matches!(span.part, SpanSubject::Queue);
        open.retain(|(until, _)| *until > span.from);
        let around = open.iter().rev().find(|(until, _)| *until >= span.until);
        let wait = || {
            let mut waits = own[1..].iter();
            waits.find(|it| it.from <= span.from && it.until >= span.until)
        };
        match around {
            Some((_, id)) => span.parent = Some(*id),
            None if is_queue => span.parent = wait().map_or(span.parent, |wait| Some(wait.id)),
            None => {}
        }
        if !is_queue {
            open.push((span.until, span.id));
        }
    }
}

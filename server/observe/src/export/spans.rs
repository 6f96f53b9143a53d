//! Writes the spans of requests as a collector gets them, each below its parent.
//!
//! The span of the request is the server's. The front's parts are its children. The parts of a
//! worker lie below each other as they lie within each other in time, and the outermost is a child
//! of the request's span: it may end after the response, because the worker cleans up. Workers are
//! not trusted: a part is cut to the time of the request.

use super::json::{self, number, text, Attribute};
use super::parts::{self, Span, SpanKind, BACK_END, QUEUE, WORKER};
use super::ExportedRequest;
use crate::trace::now;
use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

/// The front's waits for a program.
const WAITS: [&str; 2] = ["Perl", "program"];

/// Returns the body of a request to a collector.
pub fn document(service: &str, batch: &[ExportedRequest]) -> Vec<u8> {
    let clock = Clock::read();
    let mut out = Vec::with_capacity(4096);
    out.extend_from_slice(b"{\"resourceSpans\":[{\"resource\":{");
    json::attributes(&mut out, &resource(service));
    out.extend_from_slice(b"},\"scopeSpans\":[{\"scope\":{");
    json::member(&mut out, "name", "mehari");
    json::member(&mut out, "version", env!("CARGO_PKG_VERSION"));
    out.extend_from_slice(b"},\"spans\":[");
    for (at, request) in batch.iter().enumerate() {
        for (number, span) in spans(request).iter().enumerate() {
            if at + number > 0 {
                out.push(b',');
            }
            write(&mut out, request, span, &clock);
        }
    }
    out.extend_from_slice(b"]}]}]}");
    out
}

fn resource(service: &str) -> [Attribute; 5] {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname");
    [
        text("service.name", service),
        text("host.name", host.unwrap_or_default().trim()),
        number("process.pid", std::process::id()),
        text("telemetry.sdk.name", "mehari"),
        text("telemetry.sdk.language", "rust"),
    ]
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

fn write(out: &mut Vec<u8>, request: &ExportedRequest, span: &Span, clock: &Clock) {
    let request = &request.request;
    let is_whole = span.kind == SpanKind::Server;
    out.push(b'{');
    let hexadecimal = |number: u64| format!("{number:016x}").into_bytes();
    let trace = format!("{:032x}", request.identity.trace);
    json::plain(out, "traceId", trace.as_bytes());
    json::plain(out, "spanId", &hexadecimal(span.id));
    if let Some(parent) = span.parent {
        json::plain(out, "parentSpanId", &hexadecimal(parent));
    }
    if let Some(state) = request.state.as_ref().filter(|_| is_whole) {
        json::member(out, "traceState", state);
    }
    json::member(out, "name", &span.name);
    json::small(out, "kind", span.kind as u8);
    json::long(out, "startTimeUnixNano", clock.time_of_day(span.from));
    json::long(out, "endTimeUnixNano", clock.time_of_day(span.until));
    json::attributes(out, &span.attributes);
    if span.is_failed {
        out.extend_from_slice(b",\"status\":{\"code\":2}");
    }
    out.push(b'}');
}

/// Returns the spans of a request, the request's own first.
fn spans(request: &ExportedRequest) -> Vec<Span> {
    let random = RandomState::new();
    let mut all = vec![parts::whole(request)];
    all.extend(parts::own_parts(request));
    all.extend(parts::perl_parts(request));
    for (number, span) in all.iter_mut().enumerate().skip(1) {
        span.id = random.hash_one(number).max(1);
    }
    if let Some(inner) = inner(&all) {
        all[inner].id = request.request.identity.inner;
    }
    find_parents(&mut all, request.timeline.front.len());
    all
}

/// Returns the index of the span that programs and back ends know as their parent.
fn inner(all: &[Span]) -> Option<usize> {
    let named = |name: &str| all.iter().position(|span| span.name == name);
    let back_end = named(BACK_END);
    let worker = || named(WORKER);
    back_end
        .or_else(worker)
        .or_else(|| WAITS.into_iter().find_map(named))
}

/// Sets the parents. The first span is the request's, the next `front` spans are the front's parts.
fn find_parents(all: &mut [Span], front: usize) {
    let Some((whole, others)) = all.split_first_mut() else {
        return;
    };
    let (own, inner) = others.split_at_mut(front.min(others.len()));
    for span in own.iter_mut() {
        span.parent = Some(whole.id);
    }
    let mut order: Vec<&mut Span> = inner.iter_mut().collect();
    order.sort_by_key(|span| (span.from, std::cmp::Reverse(span.until)));
    // The spans that are open at the time of the next span, the innermost last.
    let mut open: Vec<(u64, u64)> = Vec::new();
    for span in order {
        open.retain(|(until, _)| *until > span.from);
        let around = open.iter().rev().find(|(until, _)| *until >= span.until);
        let wait = || {
            own.iter()
                .find(|it| it.from <= span.from && it.until >= span.until)
        };
        let parent = match around {
            Some((_, id)) => *id,
            None if span.name == QUEUE => wait().map_or(whole.id, |wait| wait.id),
            None => whole.id,
        };
        span.parent = Some(parent);
        if span.name != QUEUE {
            open.push((span.until, span.id));
        }
    }
}

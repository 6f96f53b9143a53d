//! Makes a tree of a request's parts, in which the parts of a part never overlap.
//!
//! The front's parts follow each other. While the front waits for Perl, the parts of the pool and
//! of the worker lie within the front's part. What a worker does after the front's last wait (its
//! cleanup) lies beside the front's parts, and is kept apart. Workers are not trusted: a part that
//! exceeds the part around it is cut.

use crate::timeline::{PerlPart, Timeline};
use serde::Serialize;

/// A part of a request's time, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TracedPart {
    pub kind: String,
    pub name: String,
    /// The process number of the worker; `None`: the front.
    pub process: Option<u32>,
    /// From the start of the request.
    pub from: u64,
    pub took: u64,
    /// The time that no part within this part explains.
    pub rest: u64,
    /// The number of calls that this part joins.
    pub count: u32,
    pub rows: Option<u64>,
    pub parts: Vec<TracedPart>,
}

/// One request's time, from its first byte (or its connection) to the end of its response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Anatomy {
    pub request_id: u64,
    pub method: String,
    pub target: String,
    pub client: String,
    pub status: u16,
    pub took: u64,
    pub parts: Vec<TracedPart>,
    /// What the worker did after the front had the whole response.
    pub after: Vec<TracedPart>,
    pub left_out: u64,
}

/// A part with its times as the server gave them.
#[derive(Debug, Clone)]
struct Span {
    kind: &'static str,
    name: String,
    process: Option<u32>,
    from: u64,
    until: u64,
    busy: u64,
    count: u32,
    rows: Option<u64>,
}

impl Anatomy {
    pub fn of(timeline: &Timeline) -> Anatomy {
        let spans = spans(timeline);
        let mut before = timeline.began;
        let mut waited_until = None;
        let mut parts = Vec::new();
        for part in &timeline.front {
            let until = part.until.max(before);
            let mut made = own_part(timeline.began, &part.name, before, until);
            if part.waits {
                made.parts = nest(timeline.began, cut(&spans, before, until));
                waited_until = Some(until);
            }
            made.rest = rest(&made);
            parts.push(made);
            before = until;
        }
        let after = waited_until.map_or_else(Vec::new, |since| {
            let pool = |span: &Span| span.process.is_none();
            let mut spans = cut(&spans, since, u64::MAX);
            spans.retain(|span| !pool(span));
            nest(timeline.began, spans)
        });
        Anatomy {
            request_id: timeline.request_id,
            method: timeline.method.clone(),
            target: timeline.target.clone(),
            client: timeline.client.clone(),
            status: timeline.status,
            took: before - timeline.began,
            parts,
            after,
            left_out: timeline.left_out,
        }
    }
}

fn own_part(began: u64, name: &str, from: u64, until: u64) -> TracedPart {
    TracedPart {
        kind: "front".to_owned(),
        name: name.to_owned(),
        process: None,
        from: from - began,
        took: until - from,
        rest: 0,
        count: 1,
        rows: None,
        parts: Vec::new(),
    }
}

fn rest(part: &TracedPart) -> u64 {
    let within: u64 = part.parts.iter().map(|part| part.took).sum();
    part.took.saturating_sub(within)
}

/// Returns what lies within the front's waits: the pool's parts and the workers'.
fn spans(timeline: &Timeline) -> Vec<Span> {
    let mut spans: Vec<Span> = timeline.perl.iter().map(span_of).collect();
    for wait in timeline.queued.iter().filter(|wait| wait.until > 0) {
        spans.push(pool_span("queue", wait.from, wait.until));
        let taken = spans.iter().filter(|span| span.process.is_some());
        let taken = taken.map(|span| span.from).filter(|at| *at >= wait.until);
        if let Some(taken) = taken.min() {
            spans.push(pool_span("dispatch", wait.until, taken));
        }
    }
    spans.retain(|span| span.until > span.from);
    // An outer part comes before the parts within it.
    spans.sort_by_key(|span| (span.from, std::cmp::Reverse(span.until)));
    spans
}

fn pool_span(name: &'static str, from: u64, until: u64) -> Span {
    Span {
        kind: name,
        name: name.to_owned(),
        process: None,
        from,
        until,
        busy: until.saturating_sub(from),
        count: 1,
        rows: None,
    }
}

fn span_of(part: &PerlPart) -> Span {
    const KINDS: [&str; 9] = [
        "request",
        "order",
        "handler",
        "script",
        "compile",
        "load",
        "sub-request",
        "statement",
        "cleanup",
    ];
    let kind = KINDS.into_iter().find(|kind| *kind == part.kind);
    Span {
        kind: kind.unwrap_or("other"),
        name: part.name.clone(),
        process: Some(part.pid),
        from: part.from,
        until: part.until,
        busy: part.busy,
        count: part.count,
        rows: part.rows,
    }
}

/// Returns the spans between two times. A span that begins earlier or ends later is cut.
fn cut(spans: &[Span], from: u64, until: u64) -> Vec<Span> {
    let touches = |span: &&Span| span.from < until && span.until > from;
    let cut = spans.iter().filter(touches).map(|span| {
        let mut span = span.clone();
        (span.from, span.until) = (span.from.max(from), span.until.min(until));
        span.busy = span.busy.min(span.until - span.from);
        span
    });
    cut.collect()
}

/// Makes trees of spans that are sorted by their start.
fn nest(began: u64, spans: Vec<Span>) -> Vec<TracedPart> {
    let mut spans = spans.into_iter().peekable();
    nest_until(began, &mut spans, u64::MAX)
}

fn nest_until(
    began: u64,
    spans: &mut std::iter::Peekable<std::vec::IntoIter<Span>>,
    end: u64,
) -> Vec<TracedPart> {
    let mut parts = Vec::new();
    while let Some(span) = spans.next_if(|span| span.from < end) {
        let until = span.until.min(end);
        let within = nest_until(began, spans, until);
        let inner: u64 = within.iter().map(|part| part.took).sum();
        let mut part = TracedPart {
            kind: span.kind.to_owned(),
            name: span.name,
            process: span.process,
            from: span.from.saturating_sub(began),
            took: span.busy.min(until - span.from).max(inner),
            rest: 0,
            count: span.count,
            rows: span.rows,
            parts: within,
        };
        part.rest = rest(&part);
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{FrontPart, QueueWait};

    fn front(name: &str, until: u64, waits: bool) -> FrontPart {
        let name = name.to_owned();
        FrontPart { name, until, waits }
    }

    fn perl(kind: &str, from: u64, until: u64) -> PerlPart {
        PerlPart {
            kind: kind.to_owned(),
            name: kind.to_owned(),
            from,
            until,
            busy: until - from,
            count: 1,
            rows: None,
            pid: 7,
        }
    }

    fn timeline() -> Timeline {
        Timeline {
            began: 1000,
            front: vec![
                front("head", 1100, false),
                front("Perl", 2000, true),
                front("write", 2100, false),
            ],
            queued: vec![QueueWait {
                from: 1110,
                until: 1200,
                worker: 7,
            }],
            perl: vec![
                perl("statement", 1400, 1500),
                perl("handler", 1300, 1900),
                perl("cleanup", 2050, 2300),
                perl("request", 1250, 2400),
            ],
            ..Timeline::default()
        }
    }

    fn names(parts: &[TracedPart]) -> Vec<&str> {
        parts.iter().map(|part| &*part.name).collect()
    }

    /// Checks that no part overlaps another, and that parts and rests make up each part.
    fn assert_whole(parts: &[TracedPart]) {
        for pair in parts.windows(2) {
            assert!(pair[0].from + pair[0].took <= pair[1].from, "{pair:?}");
        }
        for part in parts {
            let within: u64 = part.parts.iter().map(|part| part.took).sum();
            assert_eq!(within + part.rest, part.took, "{part:?}");
            assert_whole(&part.parts);
        }
    }

    #[test]
    fn parts_of_the_worker_lie_within_the_wait_of_the_front() {
        let anatomy = Anatomy::of(&timeline());
        assert_eq!(names(&anatomy.parts), ["head", "Perl", "write"]);
        let wait = &anatomy.parts[1];
        assert_eq!(names(&wait.parts), ["queue", "dispatch", "request"]);
        assert_eq!(names(&wait.parts[2].parts), ["handler"]);
        assert_eq!(names(&wait.parts[2].parts[0].parts), ["statement"]);
        let sum: u64 = anatomy.parts.iter().map(|part| part.took).sum();
        assert_eq!(sum, anatomy.took);
        assert_whole(&anatomy.parts);
    }

    #[test]
    fn work_after_the_response_is_kept_apart() {
        let anatomy = Anatomy::of(&timeline());
        assert_eq!(names(&anatomy.after), ["request"]);
        assert_eq!(anatomy.after[0].took, 400);
        assert_eq!(names(&anatomy.after[0].parts), ["cleanup"]);
        assert_whole(&anatomy.after);
    }

    #[test]
    fn parts_that_a_false_worker_makes_up_never_exceed_the_whole() {
        let mut timeline = timeline();
        timeline.perl = vec![
            perl("handler", 0, u64::MAX),
            perl("script", 1300, 1600),
            perl("statement", 1500, 1900),
            perl("load", u64::MAX - 1, u64::MAX),
        ];
        timeline.perl[1].busy = 1;
        let anatomy = Anatomy::of(&timeline);
        assert_eq!(anatomy.took, 1100);
        let sum: u64 = anatomy.parts.iter().map(|part| part.took).sum();
        assert_eq!(sum, anatomy.took);
        for part in &anatomy.parts {
            assert!(part.took <= anatomy.took && part.rest <= part.took);
        }
    }
}

//! The timeline of one traced request (`mehari trace`, `TraceExport`).
//!
//! The front notes the end of each of its own parts, so its parts follow each other without a gap.
//! The pool adds the waits for a worker and the parts that the worker reports. When the request and
//! its cleanup are over, the last holder drops the [`Trace`], and the timeline goes to whoever has
//! asked for it.

mod back_end;
mod server_timing;

pub use back_end::BackEndCall;

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

/// The most parts of a worker that a timeline keeps. The others are only counted.
const MOST_PARTS: usize = 10_000;

/// The methods that HTTP defines.
const METHODS: [&str; 10] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "QUERY",
];

/// Returns a method that HTTP defines.
pub fn known_method(method: &[u8]) -> Option<&'static str> {
    let is_it = |known: &&str| known.as_bytes() == method;
    METHODS.into_iter().find(is_it)
}

/// What happened when during a request. Times are nanoseconds of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timeline {
    pub request_id: u64,
    pub method: Cow<'static, str>,
    /// Path and query as sent.
    pub target: String,
    pub client: String,
    pub status: u16,
    pub began: u64,
    /// The front's parts. Each begins where the part before it ends.
    pub front: Vec<FrontPart>,
    /// The time from giving the request to the pool until a worker got it, for each visit of Perl.
    pub queued: Vec<QueueWait>,
    pub perl: Vec<PerlPart>,
    /// The requests to back ends.
    pub calls: Vec<BackEndCall>,
    /// The number of further parts that the worker has reported.
    pub left_out: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontPart {
    pub name: &'static str,
    pub until: u64,
    /// Whether the front waits for a worker, a program or a back end.
    pub waits: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueWait {
    pub from: u64,
    /// 0: no worker has got the request.
    pub until: u64,
    pub worker: u32,
}

/// A part that a worker has reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerlPart {
    pub kind: &'static str,
    pub name: String,
    /// The driver of a statement, such as `SQLite` of DBD::SQLite.
    pub driver: Option<String>,
    pub from: u64,
    pub until: u64,
    /// The time of `count` calls together.
    pub busy: u64,
    pub count: u32,
    pub rows: Option<u64>,
    pub pid: u32,
}

/// The trace context (W3C) for programs and back ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    pub trace: u128,
    /// The span that is their parent.
    pub span: u64,
    /// The bits of the field traceparent.
    pub flags: u8,
    /// The value of the field tracestate.
    pub state: Option<String>,
}

type Receiver = Box<dyn FnOnce(Timeline)>;

/// The timeline of a request that is under way.
pub struct Trace {
    timeline: RefCell<Timeline>,
    most_parts: usize,
    context: Option<TraceContext>,
    /// `None`: nobody gets the timeline; its stages go to the client (`ServerTiming`).
    give: Option<Receiver>,
}

impl fmt::Debug for Trace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.timeline.borrow().fmt(formatter)
    }
}

impl Trace {
    /// Begins the timeline of a request. `give` gets the complete timeline.
    #[inline]
    pub fn begin(timeline: Timeline, give: impl FnOnce(Timeline) + 'static) -> Trace {
        Trace {
            timeline: RefCell::new(timeline),
            most_parts: MOST_PARTS,
            context: None,
            give: Some(Box::new(give)),
        }
    }

    /// Begins a timeline that nobody gets.
    pub fn untold() -> Trace {
        Trace {
            timeline: RefCell::new(Timeline {
                began: now(),
                ..Timeline::default()
            }),
            most_parts: MOST_PARTS,
            context: None,
            give: None,
        }
    }

    /// Whether somebody gets the timeline.
    pub fn is_told(&self) -> bool {
        self.give.is_some()
    }

    /// Returns the stages that have ended, as the value of the field Server-Timing (W3C Server
    /// Timing): each with the milliseconds of all its parts, then the time since the beginning.
    pub fn server_timing(&self) -> String {
        server_timing::value(&self.timeline.borrow(), now())
    }

    /// Keeps at most so many parts of a worker.
    #[inline]
    pub fn keep_at_most(mut self, parts: usize) -> Trace {
        self.most_parts = parts.min(MOST_PARTS);
        self
    }

    /// Gives programs and back ends this trace context.
    #[inline]
    pub fn with_context(mut self, context: Option<TraceContext>) -> Trace {
        self.context = context;
        self
    }

    /// Returns the trace context for programs and back ends, if the spans are exported.
    pub fn context(&self) -> Option<&TraceContext> {
        self.context.as_ref()
    }

    /// Notes that a part of the front ends now.
    pub fn mark(&self, name: &'static str) {
        self.mark_at(name, now());
    }

    /// Notes that a part ends now, during which the front waited for a program.
    pub fn mark_wait(&self, name: &'static str) {
        let (until, waits) = (now(), true);
        let part = FrontPart { name, until, waits };
        self.timeline.borrow_mut().front.push(part);
    }

    /// Notes a part that has ended at this time.
    pub fn mark_at(&self, name: &'static str, until: u64) {
        let mut timeline = self.timeline.borrow_mut();
        let before = timeline.front.last().map_or(timeline.began, |it| it.until);
        timeline.front.push(FrontPart {
            name,
            until: until.max(before),
            waits: false,
        });
    }

    pub fn note_status(&self, status: u16) {
        self.timeline.borrow_mut().status = status;
    }

    /// Notes that the request waits for a worker from now on.
    pub fn note_queued(&self) {
        self.timeline.borrow_mut().queued.push(QueueWait {
            from: now(),
            until: 0,
            worker: 0,
        });
    }

    /// Notes the worker that gets the request now.
    pub fn note_worker(&self, pid: u32) {
        if let Some(wait) = self.timeline.borrow_mut().queued.last_mut() {
            (wait.until, wait.worker) = (now(), pid);
        }
    }

    /// Adds what a worker has reported.
    pub fn add(&self, part: PerlPart) {
        let mut timeline = self.timeline.borrow_mut();
        if timeline.perl.len() < self.most_parts {
            timeline.perl.push(part);
        } else {
            timeline.left_out += 1;
        }
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if let Some(give) = self.give.take() {
            give(self.timeline.take());
        }
    }
}

/// Returns nanoseconds of CLOCK_MONOTONIC, as the workers count time.
pub fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    fn part() -> PerlPart {
        PerlPart {
            kind: "handler",
            name: "PerlResponseHandler My::Shop".to_owned(),
            driver: None,
            from: 1,
            until: 2,
            busy: 1,
            count: 1,
            rows: None,
            pid: 7,
        }
    }

    #[test]
    fn timeline_is_given_when_its_last_holder_has_gone() {
        let given = Rc::new(RefCell::new(Vec::new()));
        let to = given.clone();
        let trace = Trace::begin(Timeline::default(), move |it| to.borrow_mut().push(it));
        let first = Rc::new(trace);
        let second = first.clone();
        first.mark("route");
        drop(first);
        assert!(given.borrow().is_empty());
        second.add(part());
        drop(second);
        assert_eq!(given.borrow().len(), 1);
        assert_eq!(given.borrow()[0].front[0].name, "route");
    }

    #[test]
    fn parts_of_a_flooding_worker_are_counted_and_not_kept() {
        let trace = Trace::begin(Timeline::default(), |timeline| {
            assert_eq!(timeline.perl.len(), MOST_PARTS);
            assert_eq!(timeline.left_out, 5);
        });
        for _ in 0..MOST_PARTS + 5 {
            trace.add(part());
        }
    }

    #[test]
    fn part_never_ends_before_the_part_before_it() {
        let trace = Trace::begin(Timeline::default(), |timeline| {
            assert!(timeline.front[1].until >= timeline.front[0].until);
        });
        trace.mark("accept");
        trace.mark_at("head", 5);
    }
}

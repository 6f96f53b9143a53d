//! The front's handle on a request under way.

use crate::arrived::{take_body, wait, Arrived, Owed, Shared};
use crate::call::{Call, Fault, Fetch, Head, NamedContent, RequestNews, ResponseOutcome};
use crate::inner::Pool;
use crate::logged::LogReport;
use crate::script_head::ScriptHead;
use crate::tap::{Tap, WorkerProgress};
use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

impl Pool {
    /// Takes a complete request without blocking and gives it to a worker or the queue. `poll_head`
    /// reports a refusal.
    pub fn submit(&self, call: Call<'_>) -> WorkerExchange {
        let mut inner = self.borrow();
        let prints_head = call.environment.parse_headers;
        let content = call.named_content();
        let mut arrived = Arrived::new(Instant::now());
        if let Some(trace) = &call.trace {
            trace.note_queued();
            arrived.trace = Some(trace.clone());
        }
        let shared = Rc::new(RefCell::new(arrived));
        inner.totals.requests += 1;
        inner.active_requests += 1;
        inner.admit(Owed::of(&shared), call);
        drop(inner);
        WorkerExchange {
            pool: self.clone(),
            shared,
            tap: None,
            prints_head,
            content,
        }
    }
}

/// The front's handle of one request in the pool. Dropping the handle early means that the client
/// has gone. A request that has not started then never runs.
pub struct WorkerExchange {
    pub(crate) pool: Pool,
    pub(crate) shared: Shared,
    pub(crate) tap: Option<Box<Tap>>,
    /// Whether the program prints its own head. Otherwise the status of a handler's response is by
    /// default its return value.
    pub(crate) prints_head: bool,
    /// What the name of the script's file says of its content. A worker that has `$r` adds it
    /// itself.
    pub(crate) content: Option<Box<NamedContent>>,
}

impl WorkerExchange {
    /// Returns the next interim (1xx) head, if one has arrived. Call this function after each
    /// `Pending` of `poll_head`.
    pub fn take_interim(&mut self) -> Option<Head> {
        self.arrived(|arrived| arrived.interim.pop_front())
    }

    /// Returns the final head. Call this function only until it has been ready once.
    pub fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<ScriptHead, Fault>> {
        if self.is_tapped() {
            return self.poll_tapped_head(cx);
        }
        self.arrived(|arrived| match (arrived.head.take(), arrived.fault) {
            (Some(head), _) => Poll::Ready(Ok(self.settled(head))),
            (None, Some(fault)) => Poll::Ready(Err(fault)),
            (None, None) => wait(arrived, cx),
        })
    }

    fn settled(&self, mut head: ScriptHead) -> ScriptHead {
        if let ScriptHead::Response(head) = &mut head {
            head.may_be_conditional &= self.prints_head;
            if let Some(content) = &self.content {
                head.add_named_content(content);
            }
        }
        head
    }

    fn poll_tapped_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<ScriptHead, Fault>> {
        if let Some(head) = self.arrived(|arrived| arrived.head.take()) {
            return Poll::Ready(Ok(self.settled(head)));
        }
        let said = self.poll_worker(cx);
        match &mut self.tap {
            Some(tap) => tap.poll_head(cx, said),
            None => Poll::Ready(Err(Fault::BadResponse)),
        }
    }

    /// Whether the rest of the response comes through a pipe.
    fn is_tapped(&mut self) -> bool {
        let (tapped, unread) = self.arrived(|arrived| (arrived.tapped, arrived.tap.take()));
        if let Some(unread) = unread {
            self.tap = unread.open().ok().map(Box::new);
        }
        tapped
    }

    /// Returns what the worker has reported. Call this function before the tap is read, because the
    /// output that the worker wrote before its report comes first.
    fn poll_worker(&mut self, cx: &mut Context<'_>) -> WorkerProgress {
        self.arrived(|arrived| {
            let _ = wait::<()>(arrived, cx);
            arrived.fault.map_or(arrived.said, WorkerProgress::Failed)
        })
    }

    fn poll_tapped_body(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Poll<Result<bool, Fault>> {
        let said = self.poll_worker(cx);
        let Some(tap) = &mut self.tap else {
            return Poll::Ready(Err(Fault::BadResponse));
        };
        let moved = tap.poll_body(cx, into, room, said);
        let left = matches!(moved, Poll::Ready(Ok(true))).then(Instant::now);
        if matches!(moved, Poll::Ready(Ok(false) | Err(_))) {
            // Closing the pipe tells its writers that nobody reads.
            self.tap = None;
        }
        self.arrived(|arrived| arrived.tap_left = left);
        moved
    }

    /// Appends the parts of the body that have arrived to `into` (at most about `room` bytes).
    /// `Ok(true)`: more may come. `Ok(false)`: the body is complete. Reading frees the worker's
    /// ring: while the front does not call this function, the worker waits.
    pub fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Poll<Result<bool, Fault>> {
        let before = into.len();
        if self.is_tapped() && self.arrived(|arrived| arrived.body.is_empty()) {
            return self.poll_tapped_body(cx, into, room);
        }
        let worker = self.arrived(|arrived| {
            take_body(arrived, into, room);
            (!arrived.complete).then_some(arrived.worker).flatten()
        });
        // Reading made room, so the worker's ring may hold more.
        if let (Some((worker, _)), true) = (worker, into.len() > before) {
            self.pool.drain(worker);
        }
        self.arrived(|arrived| {
            if into.len() > before {
                return Poll::Ready(Ok(!(arrived.complete && arrived.body.is_empty())));
            }
            take_body(arrived, into, room);
            match (into.len() > before, arrived.complete, arrived.fault) {
                (true, complete, _) => Poll::Ready(Ok(!(complete && arrived.body.is_empty()))),
                (false, true, _) => Poll::Ready(Ok(false)),
                (false, false, Some(fault)) => Poll::Ready(Err(fault)),
                (false, false, None) => wait(arrived, cx),
            }
        })
    }

    /// Whether the worker waits for the outcome. If the exchange is dropped before `tell`, the
    /// worker learns that the outcome is unknown.
    pub fn awaits_outcome(&self) -> bool {
        self.arrived(|arrived| arrived.listens)
    }

    pub fn report_outcome(&self, outcome: ResponseOutcome<'_>) {
        self.pool.borrow().report_outcome(&self.shared, outcome);
    }

    /// Answers a worker that waits for rules. `None`: the rules change
    /// nothing.
    pub fn answer_rules(&self, call: Option<Call<'_>>) {
        self.pool.borrow().answer_rules(&self.shared, call);
    }

    /// Whether the worker waits to filter the front's response.
    pub fn has_fetch(&self) -> bool {
        self.arrived(|arrived| arrived.fetch.is_some())
    }

    /// Returns the worker's request to filter the front's response, only once.
    pub fn take_fetch(&self) -> Option<Box<Fetch>> {
        self.arrived(|arrived| arrived.fetch.take())
    }

    /// Returns the request's body after Perl's input filters, and the body's length, only once.
    pub fn take_filtered_body(&self) -> Option<(OwnedFd, u64)> {
        self.arrived(|arrived| arrived.fetch.as_mut()?.body.take())
    }

    /// Notes whether the front keeps the worker waiting because the client is slow. The request's
    /// time limit does not count this time.
    pub fn note_pause(&self, pauses: bool) {
        self.arrived(|arrived| arrived.tap_left = pauses.then(Instant::now));
    }

    /// Whether the whole response has arrived, so `poll_body` completes without waiting.
    pub fn is_complete(&self) -> bool {
        self.arrived(|arrived| arrived.complete)
    }

    /// Tells the worker that the client has left, so that nobody gets what the worker still sends.
    pub fn note_departure(&self) {
        self.pool.note_departure(&self.shared);
    }

    /// Returns the process number of the worker that has the request, if there is one.
    pub fn worker(&self) -> Option<u32> {
        self.arrived(|arrived| arrived.worker.map(|(_, pid)| pid))
    }

    /// Returns what the worker has told about the request, only once.
    pub fn take_told(&mut self) -> Option<Box<RequestNews>> {
        self.arrived(|arrived| arrived.told.take())
    }

    /// Returns what the worker says for the access line, if it says anything.
    pub fn log_report(&self) -> Option<LogReport> {
        self.arrived(|arrived| arrived.log.clone())
    }

    /// Returns how long the request waited for a worker.
    pub fn queued(&self) -> Duration {
        self.arrived(|arrived| arrived.queued)
    }

    fn arrived<T>(&self, look: impl FnOnce(&mut Arrived) -> T) -> T {
        look(&mut self.shared.borrow_mut())
    }
}

impl Drop for WorkerExchange {
    fn drop(&mut self) {
        self.pool.abandon(&self.shared);
    }
}

//! The parts of a response that have arrived, and the duty to answer a request.

use crate::call::{Fault, Fetch, Head, RequestNews};
use crate::logged::LogReport;
use crate::page::Pages;
use crate::script_head::ScriptHead;
use crate::tap::{Unread, WorkerProgress};
use mehari_observe::trace::Trace;
use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Everything that has arrived for one request.
pub struct Arrived {
    pub waker: Option<Waker>,
    /// Whether the client has gone, so that the pool drops what arrives.
    pub gone: bool,
    /// Whether the client left before the response was complete.
    pub left_early: bool,
    pub interim: VecDeque<Head>,
    pub head: Option<ScriptHead>,
    pub body: Vec<u8>,
    pub complete: bool,
    pub fault: Option<Fault>,
    /// The pipe with the rest of the response, until the front reads it.
    pub tap: Option<Box<Unread>>,
    pub tapped: bool,
    /// Whether the worker waits for the outcome of the front's response.
    pub listens: bool,
    /// The worker's request to filter the front's response.
    pub fetch: Option<Box<Fetch>>,
    pub told: Option<Box<RequestNews>>,
    /// What the worker says for the access line.
    pub log: Option<LogReport>,
    /// Whether the worker waits for rules.
    pub asks: bool,
    /// The pages of the front that the worker is printing.
    pub pages: Option<Box<Pages>>,
    /// Wakes the task that makes a page for the worker, when nobody waits for the page any more.
    pub page_waker: Option<Waker>,
    /// What the worker last reported about a tapped response.
    pub said: WorkerProgress,
    /// The time at which the front last read the tap, or stopped reading because the client is
    /// slow. `None`: the front waits for the tap.
    pub tap_left: Option<Instant>,
    /// The worker that has the request: its index, to drain its ring, and its pid, for the log.
    pub worker: Option<(usize, u32)>,
    pub submitted: Instant,
    pub queued: Duration,
    /// The timeline of a traced request.
    pub trace: Option<Rc<Trace>>,
}

impl Arrived {
    pub fn new(submitted: Instant) -> Arrived {
        Arrived {
            waker: None,
            gone: false,
            left_early: false,
            interim: VecDeque::new(),
            head: None,
            body: Vec::new(),
            complete: false,
            fault: None,
            tap: None,
            tapped: false,
            listens: false,
            fetch: None,
            told: None,
            log: None,
            asks: false,
            pages: None,
            page_waker: None,
            said: WorkerProgress::Nothing,
            tap_left: None,
            worker: None,
            submitted,
            queued: Duration::ZERO,
            trace: None,
        }
    }

    /// Returns what the worker tells about the request, for an addition.
    pub fn told(&mut self) -> &mut RequestNews {
        self.told.get_or_insert_default()
    }

    pub fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Whether the end of the response, or a fault, has arrived.
    pub fn is_answered(&self) -> bool {
        self.complete || self.fault.is_some() || self.said != WorkerProgress::Nothing
    }

    /// Whether nobody waits for the response any more. Otherwise the task is woken when that is so.
    pub fn is_given_up(&mut self, cx: &mut Context<'_>) -> bool {
        let is_given_up = self.left_early || self.fault.is_some();
        if !is_given_up {
            self.page_waker = Some(cx.waker().clone());
        }
        is_given_up
    }

    fn wake_page(&mut self) {
        if let Some(waker) = self.page_waker.take() {
            waker.wake();
        }
    }

    /// Records a fault, unless the response is already complete.
    pub fn fail(&mut self, fault: Fault) {
        if !self.is_answered() {
            self.fault = Some(fault);
            self.wake();
            self.wake_page();
        }
    }

    /// Drops what has arrived, because the client has gone.
    pub fn give_up(&mut self) {
        self.wake_page();
        *self = Arrived {
            gone: true,
            left_early: !self.complete,
            worker: self.worker,
            trace: self.trace.take(),
            log: self.log.take(),
            ..Arrived::new(self.submitted)
        };
    }
}

/// A request under way. The front holds one reference. The pool's [`Owed`] holds the other.
pub(crate) type Shared = Rc<RefCell<Arrived>>;

/// The duty to answer a request. Dropping an `Owed` without an answer answers that the worker died.
pub struct Owed(Shared);

impl Owed {
    pub fn of(exchange: &Shared) -> Owed {
        Owed(exchange.clone())
    }

    pub fn arrived(&self) -> RefMut<'_, Arrived> {
        self.0.borrow_mut()
    }

    pub fn exchange(&self) -> Shared {
        self.0.clone()
    }

    pub fn is_to(&self, exchange: &Shared) -> bool {
        Rc::ptr_eq(&self.0, exchange)
    }

    pub fn fail(self, fault: Fault) {
        self.arrived().fail(fault);
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        let mut arrived = self.arrived();
        arrived.fail(Fault::WorkerDied);
        if let Some(log) = &arrived.log {
            log.end();
        }
    }
}

pub fn wait<T>(arrived: &mut Arrived, cx: &mut Context<'_>) -> Poll<T> {
    match &mut arrived.waker {
        Some(waker) => waker.clone_from(cx.waker()),
        None => arrived.waker = Some(cx.waker().clone()),
    }
    Poll::Pending
}

pub fn take_body(arrived: &mut Arrived, into: &mut Vec<u8>, room: usize) {
    let part = arrived.body.len().min(room.max(1));
    into.extend(arrived.body.drain(..part));
    if arrived.body.is_empty() && arrived.body.capacity() > 64 * 1024 {
        arrived.body = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange() -> (Shared, Owed) {
        let shared = Rc::new(RefCell::new(Arrived::new(Instant::now())));
        let owed = Owed::of(&shared);
        (shared, owed)
    }

    #[test]
    fn a_request_that_is_dropped_is_answered() {
        let (shared, owed) = exchange();
        assert!(!shared.borrow().is_answered());
        drop(owed);
        assert_eq!(shared.borrow().fault, Some(Fault::WorkerDied));
    }

    #[test]
    fn the_first_answer_stays() {
        let (shared, owed) = exchange();
        owed.arrived().fail(Fault::TimedOut);
        owed.fail(Fault::BadResponse);
        assert_eq!(shared.borrow().fault, Some(Fault::TimedOut));
        let (shared, owed) = exchange();
        owed.arrived().complete = true;
        drop(owed);
        assert_eq!(shared.borrow().fault, None);
    }

    #[test]
    fn an_answer_wakes_the_task_that_waits_for_it() {
        let (shared, owed) = exchange();
        let count = std::sync::Arc::new(Count::default());
        let waker = Waker::from(count.clone());
        let waits = wait::<()>(&mut shared.borrow_mut(), &mut Context::from_waker(&waker));
        assert!(waits.is_pending());
        drop(owed);
        assert_eq!(count.0.load(std::sync::atomic::Ordering::Relaxed), 1);
    }

    #[derive(Default)]
    struct Count(std::sync::atomic::AtomicUsize);

    impl std::task::Wake for Count {
        fn wake(self: std::sync::Arc<Count>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
}

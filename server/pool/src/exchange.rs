//! What has come back for a request under way, the front's handle on it, and the duty to answer it.

use crate::call::{Fault, Head, Named, Outcome};
use crate::inner::Pool;
use crate::script_head::ScriptHead;
use crate::tap::{Said, Tap, Unread};
use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// What has arrived for one request.
pub struct Arrived {
    waker: Option<Waker>,
    /// The client is gone: nobody reads what arrives.
    pub gone: bool,
    /// And went before the answer was complete.
    pub left_early: bool,
    pub interim: VecDeque<Head>,
    pub head: Option<ScriptHead>,
    pub body: Vec<u8>,
    pub complete: bool,
    fault: Option<Fault>,
    /// The pipe that the rest comes through, until the front reads it.
    pub tap: Option<Box<Unread>>,
    pub tapped: bool,
    /// Its worker waits to hear what the front has answered.
    pub listens: bool,
    pub user: Option<Box<Named>>,
    /// Of a tapped response, what the worker has said of its end.
    pub said: Said,
    /// Since when there may be something in the tap that the front does not want yet.
    pub tap_left: Option<Instant>,
    /// The worker it was given to: its index, for draining its ring, and its pid, for the log.
    pub worker: Option<(usize, u32)>,
    pub submitted: Instant,
    pub queued: Duration,
}

impl Arrived {
    pub fn nothing(submitted: Instant) -> Arrived {
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
            user: None,
            said: Said::Nothing,
            tap_left: None,
            worker: None,
            submitted,
            queued: Duration::ZERO,
        }
    }

    pub fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// The end of the response is here, or the reason why there is none.
    pub fn is_answered(&self) -> bool {
        self.complete || self.fault.is_some() || self.said != Said::Nothing
    }

    /// An answer that has come stays as it is.
    pub fn fail(&mut self, fault: Fault) {
        if !self.is_answered() {
            self.fault = Some(fault);
            self.wake();
        }
    }

    /// The client is gone: what has arrived is dropped.
    pub fn give_up(&mut self) {
        *self = Arrived {
            gone: true,
            left_early: !self.complete,
            worker: self.worker,
            ..Arrived::nothing(self.submitted)
        };
    }
}

/// A request under way: who waits for the answer holds one, who is to answer it the other, as [`Owed`].
pub(crate) type Shared = Rc<RefCell<Arrived>>;

/// The duty to answer a request. Whoever drops it without an answer has answered that the worker died.
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
        self.arrived().fail(Fault::WorkerDied);
    }
}

/// One request given to the pool. Dropped before it is answered: the client is gone; what has not begun is never run.
pub struct Exchange {
    pub(crate) pool: Pool,
    pub(crate) shared: Shared,
    pub(crate) tap: Option<Box<Tap>>,
    /// The program prints its own head; a handler's default status is what it answers.
    pub(crate) prints_head: bool,
}

impl Exchange {
    /// The next interim (1xx) head, if one has come. Ask after each `Pending` of `poll_head`.
    pub fn take_interim(&mut self) -> Option<Head> {
        self.arrived(|arrived| arrived.interim.pop_front())
    }

    /// The final head, once.
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
        }
        head
    }

    fn poll_tapped_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<ScriptHead, Fault>> {
        if let Some(head) = self.arrived(|arrived| arrived.head.take()) {
            return Poll::Ready(Ok(self.settled(head)));
        }
        let said = self.worker_said(cx);
        match &mut self.tap {
            Some(tap) => tap.poll_head(cx, said),
            None => Poll::Ready(Err(Fault::BadResponse)),
        }
    }

    /// True: the response comes through a pipe, what came before it excepted.
    fn is_tapped(&mut self) -> bool {
        let (tapped, unread) = self.arrived(|arrived| (arrived.tapped, arrived.tap.take()));
        if let Some(unread) = unread {
            self.tap = unread.open().ok().map(Box::new);
        }
        tapped
    }

    /// Asked before the tap is read: what the worker wrote comes before what it says.
    fn worker_said(&mut self, cx: &mut Context<'_>) -> Said {
        self.arrived(|arrived| {
            let _ = wait::<()>(arrived, cx);
            arrived.fault.map_or(arrived.said, Said::Failed)
        })
    }

    fn poll_tapped_body(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Poll<Result<bool, Fault>> {
        let said = self.worker_said(cx);
        let Some(tap) = &mut self.tap else {
            return Poll::Ready(Err(Fault::BadResponse));
        };
        let moved = tap.poll_body(cx, into, room, said);
        let left = matches!(moved, Poll::Ready(Ok(true))).then(Instant::now);
        if matches!(moved, Poll::Ready(Ok(false) | Err(_))) {
            // Who still holds the other end may as well know that nobody reads.
            self.tap = None;
        }
        self.arrived(|arrived| arrived.tap_left = left);
        moved
    }

    /// Appends what has arrived of the body to `into` (at most about `room` bytes).
    /// `Ok(true)`: more may come. `Ok(false)`: the body is complete and nothing more will come.
    /// Reading is what frees the worker's ring: while the front does not call this, the worker waits.
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
        // What was read made room: the worker's ring may hold more.
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

    /// Its worker waits to hear what the front has answered; dropped untold it hears that nothing is known.
    pub fn listens(&self) -> bool {
        self.arrived(|arrived| arrived.listens)
    }

    pub fn tell(self, outcome: Outcome<'_>) {
        self.pool.borrow().tell(&self.shared, outcome);
    }

    /// True when the whole response has arrived: `poll_body` will complete without waiting.
    pub fn is_complete(&self) -> bool {
        self.arrived(|arrived| arrived.complete)
    }

    /// The operating-system id of the worker that took the request, if one has.
    pub fn worker(&self) -> Option<u32> {
        self.arrived(|arrived| arrived.worker.map(|(_, pid)| pid))
    }

    /// Who Perl's handlers say the user is; once.
    pub fn take_user(&mut self) -> Option<Box<Named>> {
        self.arrived(|arrived| arrived.user.take())
    }

    /// Time the request waited before a worker had it.
    pub fn queued(&self) -> Duration {
        self.arrived(|arrived| arrived.queued)
    }

    fn arrived<T>(&self, look: impl FnOnce(&mut Arrived) -> T) -> T {
        look(&mut self.shared.borrow_mut())
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.pool.abandon(&self.shared);
    }
}

fn wait<T>(arrived: &mut Arrived, cx: &mut Context<'_>) -> Poll<T> {
    match &mut arrived.waker {
        Some(waker) => waker.clone_from(cx.waker()),
        None => arrived.waker = Some(cx.waker().clone()),
    }
    Poll::Pending
}

fn take_body(arrived: &mut Arrived, into: &mut Vec<u8>, room: usize) {
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
        let shared = Rc::new(RefCell::new(Arrived::nothing(Instant::now())));
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
    fn an_answer_wakes_who_waits_for_it() {
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

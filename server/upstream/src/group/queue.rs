//! Keeps the requests that wait for a member: first in, first out, limited in number and time.
//!
//! One timer serves all waiting requests, because the oldest request is usually the first to run
//! out of time.

use super::{Group, Lease, Route, Wish};
use crate::Fault;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::time::Instant;

#[derive(Default)]
pub struct Queue {
    waiting: RefCell<VecDeque<Rc<Waiter>>>,
    /// The number of requests that still wait.
    length: Cell<usize>,
    /// When the timer task will next look for late requests.
    looks_at: Cell<Option<Instant>>,
}

struct Waiter {
    wish: Wish,
    /// The lease that the request has got.
    lease: RefCell<Option<Lease>>,
    waker: RefCell<Option<Waker>>,
    /// Whether the request has been served or has given up.
    left: Cell<bool>,
    /// The end of the request's waiting time.
    until: Instant,
    late: Cell<bool>,
}

impl Queue {
    pub fn length(&self) -> usize {
        self.length.get()
    }

    /// Serves the oldest requests until `take` finds no member for them.
    pub fn serve(&self, mut take: impl FnMut(&Wish) -> Option<Lease>) {
        let mut at = 0;
        loop {
            let waiter = match self.waiting.borrow().get(at) {
                Some(waiter) => waiter.clone(),
                None => return,
            };
            if waiter.left.get() {
                self.waiting.borrow_mut().remove(at);
                continue;
            }
            match take(&waiter.wish) {
                Some(lease) => {
                    self.waiting.borrow_mut().remove(at);
                    self.leave(&waiter);
                    waiter.lease.replace(Some(lease));
                    waiter.wake();
                }
                // If a request without wishes finds no member, no later request finds a member
                // either.
                None if waiter.wish.is_plain() => return,
                None => at += 1,
            }
        }
    }

    fn join(&self, wish: Wish, until: Instant) -> Rc<Waiter> {
        let waiter = Rc::new(Waiter {
            wish,
            lease: RefCell::new(None),
            waker: RefCell::new(None),
            left: Cell::new(false),
            until,
            late: Cell::new(false),
        });
        let mut waiting = self.waiting.borrow_mut();
        // A request that gave up is removed when it is the oldest one. Behind a long-waiting
        // request, such requests would add up.
        if waiting.len() > 2 * self.length.get() + 64 {
            waiting.retain(|waiter| !waiter.left.get());
        }
        waiting.push_back(waiter.clone());
        self.length.set(self.length.get() + 1);
        waiter
    }

    /// Wakes requests whose time is over. Returns when the next request's time is over, or `None`
    /// if no request waits.
    fn expire(&self, now: Instant) -> Option<Instant> {
        let waiting = self.waiting.borrow();
        let there = || waiting.iter().filter(|waiter| !waiter.left.get());
        for waiter in there().filter(|waiter| waiter.until <= now) {
            waiter.late.set(true);
            waiter.wake();
        }
        let rest = there().filter(|waiter| waiter.until > now);
        rest.map(|waiter| waiter.until).min()
    }

    fn leave(&self, waiter: &Waiter) {
        if !waiter.left.replace(true) {
            self.length.set(self.length.get() - 1);
        }
    }
}

impl Waiter {
    fn wake(&self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// Wakes late requests as long as requests wait. The task runs until its next look even if no
/// request waits, because another request often follows at once.
async fn watch(group: Weak<Group>, mut next: Instant) {
    loop {
        tokio::time::sleep_until(next).await;
        let Some(group) = group.upgrade() else { return };
        let looks_at = &group.queue.looks_at;
        // After a reload a later request may have a shorter time, and another task then serves all
        // requests.
        if looks_at.get() != Some(next) {
            return;
        }
        looks_at.set(group.queue.expire(Instant::now()));
        match looks_at.get() {
            Some(until) => next = until,
            None => return,
        }
    }
}

/// A request that seeks a member.
pub struct Seeking {
    group: Rc<Group>,
    wish: Option<Wish>,
    place: Option<QueuePosition>,
    waited: Duration,
}

struct QueuePosition {
    group: Rc<Group>,
    waiter: Rc<Waiter>,
    since: Instant,
}

impl Drop for QueuePosition {
    fn drop(&mut self) {
        self.group.queue.leave(&self.waiter);
        // The request no longer wants the lease, so the next request gets it.
        drop(self.waiter.lease.take());
    }
}

impl Seeking {
    pub(crate) fn new(group: Rc<Group>, wish: Wish) -> Seeking {
        Seeking {
            group,
            wish: Some(wish),
            place: None,
            waited: Duration::ZERO,
        }
    }

    pub fn group(&self) -> &Rc<Group> {
        &self.group
    }

    /// Returns the route of the request's session.
    pub fn route(&self) -> Option<Route> {
        self.wish.as_ref().and_then(|wish| wish.route.clone())
    }

    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Lease, Fault>> {
        if let Some(mut wish) = self.wish.take() {
            let now = Instant::now();
            if self.group.queue.length() == 0 || !wish.is_plain() {
                if let Some(lease) = self.group.take(&wish, now) {
                    return Poll::Ready(Ok(lease));
                }
            }
            // There is no other member, so a member that has failed this request may serve it.
            if !wish.tried.is_empty() {
                wish.tried.clear();
                if let Some(lease) = self.group.take(&wish, now) {
                    return Poll::Ready(Ok(lease));
                }
            }
            if let Err(fault) = self.group.may_wait(&wish, now) {
                return Poll::Ready(Err(fault));
            }
            self.place = Some(self.take_place(wish, now));
        }
        let Some(place) = &mut self.place else {
            return Poll::Ready(Err(Fault::NoBackEnd));
        };
        if let Some(lease) = place.waiter.lease.take() {
            self.waited = lease.since().saturating_duration_since(place.since);
            self.place = None;
            return Poll::Ready(Ok(lease));
        }
        if place.waiter.late.get() {
            self.waited = place.since.elapsed();
            self.place = None;
            return Poll::Ready(Err(Fault::QueueTimedOut));
        }
        place.waiter.waker.replace(Some(cx.waker().clone()));
        Poll::Pending
    }

    fn take_place(&self, wish: Wish, since: Instant) -> QueuePosition {
        let queue = &self.group.queue;
        let until = since + self.group.queue_timeout();
        if queue.looks_at.get().is_none_or(|next| next > until) {
            queue.looks_at.set(Some(until));
            tokio::task::spawn_local(watch(Rc::downgrade(&self.group), until));
        }
        QueuePosition {
            waiter: queue.join(wish, until),
            group: self.group.clone(),
            since,
        }
    }

    /// Returns how long the request has waited.
    pub fn waited(&self) -> Duration {
        self.waited
    }
}

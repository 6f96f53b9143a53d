//! Ends connections that wait too long, without a timer for each connection. Each connection keeps
//! a [`Deadline`]. Every quarter of a second a sweep wakes the connections whose deadline has
//! passed. A stop of the server wakes waiting connections in the same way.

use crate::clock::Clock;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Duration;

/// The interval of the sweep, which is also the largest delay of a deadline.
pub const SWEEP: Duration = Duration::from_millis(250);
/// The interval of the sweep while no connection is open.
const RESTING_SWEEP: Duration = Duration::from_secs(4);

/// The phase of a connection, named by what the connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The first byte of a new connection.
    Fresh,
    /// The next request.
    Idle,
    /// The rest of a head.
    Head,
    /// The rest of a body.
    Body,
    /// Perl, a file or another program. Each of these has its own limits.
    Work,
    /// The client, which must take bytes.
    Write,
    /// The client, which must learn that it was refused.
    Linger,
}

/// Why a sleeping connection was woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// The phase took too long, or the server needs room for another connection and the client has
    /// sent nothing yet.
    TimedOut,
    /// The connection must close when it is idle, because the server stops or needs room for
    /// another connection.
    Drain,
    /// The server's time limit for stopping has passed. The connection ends at once.
    Abort,
}

/// The phase of one connection, and the end of that phase.
pub struct Deadline {
    phase: Cell<Phase>,
    /// When the phase is over, on the clock of [`Clock::tick`].
    until: Cell<Duration>,
    since: Cell<Duration>,
    interrupt: Cell<Option<Interrupt>>,
    /// Whether the connection must close when it is idle. An [`Interrupt::TimedOut`] does not
    /// change this value.
    leaving: Cell<bool>,
    /// The index of this deadline in the registry.
    place: Cell<usize>,
    /// How many connections have been entered into the registry before.
    number: u64,
    waker: RefCell<Option<Waker>>,
}

impl Deadline {
    fn new(now: Duration, number: u64) -> Deadline {
        Deadline {
            phase: Cell::new(Phase::Head),
            until: Cell::new(Duration::MAX),
            since: Cell::new(now),
            interrupt: Cell::new(None),
            leaving: Cell::new(false),
            place: Cell::new(0),
            number,
            waker: RefCell::new(None),
        }
    }

    /// Enters a phase that may last `limit`. A `Drain` that arrived during work stays in force.
    #[inline]
    pub fn enter(&self, clock: &Clock, phase: Phase, limit: Duration) {
        self.phase.set(phase);
        self.since.set(clock.tick());
        let limit = limit.saturating_add(SWEEP);
        self.until.set(clock.tick().saturating_add(limit));
        if self.interrupt.get() == Some(Interrupt::TimedOut) {
            self.interrupt
                .set(self.leaving.get().then_some(Interrupt::Drain));
        }
    }

    /// Notes that the client of a new connection has sent a byte. The time limit stays. If the
    /// connection was to make room, it goes on.
    #[inline]
    pub fn note_first_byte(&self) {
        if self.phase.get() == Phase::Fresh {
            self.phase.set(Phase::Head);
            let has_passed = self.until.get() == Duration::MAX;
            if self.interrupt.get() == Some(Interrupt::TimedOut) && !has_passed {
                self.interrupt
                    .set(self.leaving.get().then_some(Interrupt::Drain));
            }
        }
    }

    /// Returns the interrupt that concerns the current phase. If there is none, the next interrupt
    /// wakes `cx`.
    #[inline]
    pub fn poll_interrupt(&self, cx: &Context<'_>) -> Option<Interrupt> {
        match self.interrupt.get() {
            Some(Interrupt::Drain) if self.phase.get() != Phase::Idle => {}
            Some(interrupt) => return Some(interrupt),
            None => {}
        }
        let mut waker = self.waker.borrow_mut();
        match &mut *waker {
            Some(known) if known.will_wake(cx.waker()) => {}
            known => *known = Some(cx.waker().clone()),
        }
        None
    }

    fn raise(&self, interrupt: Interrupt) {
        if interrupt == Interrupt::Drain {
            self.leaving.set(true);
        }
        self.interrupt.set(Some(interrupt));
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.borrow().as_ref() {
            waker.wake_by_ref();
        }
    }
}

/// All open connections.
#[derive(Default)]
pub struct Registry {
    deadlines: RefCell<Vec<Rc<Deadline>>>,
    emptied: tokio::sync::Notify,
    /// Whether the sweep rests because no connection is open. The clock stands still during the
    /// rest.
    is_resting: Cell<bool>,
    entered: tokio::sync::Notify,
    /// How many connections have been entered.
    count: Cell<u64>,
}

impl Registry {
    /// Returns when the next sweep is due: after a quarter of a second, or later while no
    /// connection is open.
    pub async fn sweep_due(&self) {
        if self.open() == 0 {
            self.is_resting.set(true);
            let _ = tokio::time::timeout(RESTING_SWEEP, self.entered.notified()).await;
            self.is_resting.set(false);
        } else {
            tokio::time::sleep(SWEEP).await;
        }
    }

    pub fn open(&self) -> usize {
        self.deadlines.borrow().len()
    }

    /// Enters a connection into the registry, and ends the sweep's rest. Dropping the result
    /// removes the connection.
    pub fn enter(self: &Rc<Registry>, clock: &Clock) -> ConnectionGuard {
        if self.is_resting.take() {
            clock.advance();
            self.entered.notify_one();
        }
        let number = self.count.get();
        self.count.set(number + 1);
        let deadline = Rc::new(Deadline::new(clock.tick(), number));
        let mut deadlines = self.deadlines.borrow_mut();
        deadline.place.set(deadlines.len());
        deadlines.push(deadline.clone());
        drop(deadlines);
        ConnectionGuard {
            deadline,
            registry: self.clone(),
        }
    }

    pub fn sweep(&self, now: Duration) {
        for deadline in self.deadlines.borrow().iter() {
            if deadline.until.get() <= now {
                deadline.until.set(Duration::MAX);
                deadline.raise(Interrupt::TimedOut);
            }
        }
    }

    pub fn raise(&self, interrupt: Interrupt) {
        for deadline in self.deadlines.borrow().iter() {
            deadline.raise(interrupt);
        }
    }

    /// Wakes all connections, which then look at the state of the server.
    pub fn wake(&self) {
        for deadline in self.deadlines.borrow().iter() {
            deadline.wake();
        }
    }

    /// Asks the connection that has waited longest for a request to close. Returns false if no
    /// connection is idle: if each client has sent a part of a request or waits for a response.
    pub fn dismiss_idle(&self) -> bool {
        let deadlines = self.deadlines.borrow();
        let waits = |deadline: &&Rc<Deadline>| {
            matches!(deadline.phase.get(), Phase::Fresh | Phase::Idle)
                && deadline.interrupt.get().is_none()
        };
        // The clock is coarse. Of the connections of one tick, the one that was accepted first
        // closes.
        let waiting = deadlines.iter().filter(waits);
        let longest = waiting.min_by_key(|deadline| (deadline.since.get(), deadline.number));
        let Some(deadline) = longest else {
            return false;
        };
        deadline.raise(match deadline.phase.get() {
            // A stop of the server does not close such a connection, because a request may be on
            // its way.
            Phase::Fresh => Interrupt::TimedOut,
            _ => Interrupt::Drain,
        });
        true
    }

    /// Completes when no connection is open.
    pub async fn wait_until_empty(&self) {
        while self.open() > 0 {
            self.emptied.notified().await;
        }
    }
}

/// An open connection's entry in the registry. Dropping the guard removes the entry.
pub struct ConnectionGuard {
    deadline: Rc<Deadline>,
    registry: Rc<Registry>,
}

impl std::ops::Deref for ConnectionGuard {
    type Target = Deadline;
    #[inline]
    fn deref(&self) -> &Deadline {
        &self.deadline
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let mut deadlines = self.registry.deadlines.borrow_mut();
        let place = self.deadline.place.get();
        deadlines.swap_remove(place);
        if let Some(moved) = deadlines.get(place) {
            moved.place.set(place);
        }
        if deadlines.is_empty() {
            self.registry.emptied.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drain_stays_in_force_after_a_timeout() {
        let clock = Clock::new();
        let registry = Rc::new(Registry::default());
        let guard = registry.enter(&clock);
        let cx = &mut Context::from_waker(Waker::noop());
        guard.enter(&clock, Phase::Work, Duration::ZERO);
        registry.raise(Interrupt::Drain);
        registry.sweep(SWEEP * 2);
        assert_eq!(guard.poll_interrupt(cx), Some(Interrupt::TimedOut));
        guard.enter(&clock, Phase::Work, Duration::MAX);
        assert_eq!(guard.poll_interrupt(cx), None, "not while it works");
        guard.enter(&clock, Phase::Idle, Duration::MAX);
        assert_eq!(guard.poll_interrupt(cx), Some(Interrupt::Drain));
    }

    #[test]
    fn the_longest_waiting_connection_makes_room_unless_its_client_has_sent_a_byte() {
        let clock = Clock::new();
        let registry = Rc::new(Registry::default());
        let cx = &mut Context::from_waker(Waker::noop());
        let guards: Vec<_> = (0..4).map(|_| registry.enter(&clock)).collect();
        let phases = [Phase::Work, Phase::Fresh, Phase::Fresh, Phase::Idle];
        for (guard, phase) in guards.iter().zip(phases) {
            guard.enter(&clock, phase, Duration::from_secs(9));
        }
        guards[1].note_first_byte();
        let told = |cx: &Context<'_>| -> Vec<_> {
            guards
                .iter()
                .map(|guard| guard.poll_interrupt(cx))
                .collect()
        };
        assert!(registry.dismiss_idle());
        let late = Some(Interrupt::TimedOut);
        assert_eq!(told(cx), [None, None, late, None]);
        assert!(registry.dismiss_idle());
        assert_eq!(told(cx), [None, None, late, Some(Interrupt::Drain)]);
        assert!(!registry.dismiss_idle(), "nobody else is idle");
        guards[2].note_first_byte();
        assert_eq!(told(cx)[2], None, "the request has come before the close");
    }

    #[test]
    fn a_byte_after_the_time_limit_does_not_lift_the_limit() {
        let clock = Clock::new();
        let registry = Rc::new(Registry::default());
        let guard = registry.enter(&clock);
        let cx = &mut Context::from_waker(Waker::noop());
        guard.enter(&clock, Phase::Fresh, Duration::ZERO);
        registry.sweep(SWEEP * 2);
        guard.note_first_byte();
        assert_eq!(guard.poll_interrupt(cx), Some(Interrupt::TimedOut));
    }
}

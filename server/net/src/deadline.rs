//! Deadlines without timers. Each connection keeps a [`Watch`], and a sweep every quarter of a
//! second wakes those that are late. A stop also reaches sleeping connections this way.

use crate::clock::Clock;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Duration;

/// The interval of the sweep, and so the largest delay of a deadline.
pub const SWEEP: Duration = Duration::from_millis(250);

/// The phase of a connection: what it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Between requests.
    Idle,
    /// The rest of a head.
    Head,
    /// The rest of a body.
    Body,
    /// Perl, a file or another program, which has its own limits.
    Work,
    /// The client must read bytes.
    Write,
    /// The client must notice that it was refused.
    Linger,
}

/// Why a sleeping connection was woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alarm {
    /// The phase took too long.
    Late,
    /// An idle connection must close: a stop, or room for another connection.
    Leave,
    /// The stop's own deadline has passed, and the connection ends whatever it does.
    Abandon,
}

pub struct Watch {
    phase: Cell<Phase>,
    deadline: Cell<Duration>,
    since: Cell<Duration>,
    alarm: Cell<Option<Alarm>>,
    /// Whether the connection must leave. A passing deadline does not change this.
    leaving: Cell<bool>,
    /// Its index in the registry.
    place: Cell<usize>,
    waker: RefCell<Option<Waker>>,
}

impl Watch {
    fn new(now: Duration) -> Watch {
        Watch {
            phase: Cell::new(Phase::Head),
            deadline: Cell::new(Duration::MAX),
            since: Cell::new(now),
            alarm: Cell::new(None),
            leaving: Cell::new(false),
            place: Cell::new(0),
            waker: RefCell::new(None),
        }
    }

    /// Enters a phase that may last `limit`. A `Leave` that arrived during work stays in force.
    #[inline]
    pub fn enter(&self, clock: &Clock, phase: Phase, limit: Duration) {
        self.phase.set(phase);
        self.since.set(clock.tick());
        let limit = limit.saturating_add(SWEEP);
        self.deadline.set(clock.tick().saturating_add(limit));
        if self.alarm.get() == Some(Alarm::Late) {
            self.alarm.set(self.leaving.get().then_some(Alarm::Leave));
        }
    }

    /// The alarm for the current phase. Without an alarm, `cx` is woken by the next one.
    #[inline]
    pub fn poll_alarm(&self, cx: &Context<'_>) -> Option<Alarm> {
        match self.alarm.get() {
            Some(Alarm::Leave) if self.phase.get() != Phase::Idle => {}
            Some(alarm) => return Some(alarm),
            None => {}
        }
        let mut waker = self.waker.borrow_mut();
        match &mut *waker {
            Some(known) if known.will_wake(cx.waker()) => {}
            known => *known = Some(cx.waker().clone()),
        }
        None
    }

    fn raise(&self, alarm: Alarm) {
        if alarm == Alarm::Leave {
            self.leaving.set(true);
        }
        self.alarm.set(Some(alarm));
        if let Some(waker) = self.waker.borrow().as_ref() {
            waker.wake_by_ref();
        }
    }
}

/// All open connections.
#[derive(Default)]
pub struct Registry {
    watches: RefCell<Vec<Rc<Watch>>>,
    emptied: tokio::sync::Notify,
}

impl Registry {
    pub fn open(&self) -> usize {
        self.watches.borrow().len()
    }

    /// Enters a connection into the registry. Dropping the result removes it.
    pub fn enter(self: &Rc<Registry>, clock: &Clock) -> Seat {
        let watch = Rc::new(Watch::new(clock.tick()));
        let mut watches = self.watches.borrow_mut();
        watch.place.set(watches.len());
        watches.push(watch.clone());
        drop(watches);
        Seat {
            watch,
            registry: self.clone(),
        }
    }

    pub fn sweep(&self, now: Duration) {
        for watch in self.watches.borrow().iter() {
            if watch.deadline.get() <= now {
                watch.deadline.set(Duration::MAX);
                watch.raise(Alarm::Late);
            }
        }
    }

    pub fn raise(&self, alarm: Alarm) {
        for watch in self.watches.borrow().iter() {
            watch.raise(alarm);
        }
    }

    /// Asks the connection that has been idle longest to leave. Returns false if none is idle.
    pub fn dismiss_idle(&self) -> bool {
        let watches = self.watches.borrow();
        let idle =
            |watch: &&Rc<Watch>| watch.phase.get() == Phase::Idle && watch.alarm.get().is_none();
        match watches
            .iter()
            .filter(idle)
            .min_by_key(|watch| watch.since.get())
        {
            Some(watch) => {
                watch.raise(Alarm::Leave);
                true
            }
            None => false,
        }
    }

    /// Completes when no connection is open.
    pub async fn emptied(&self) {
        while self.open() > 0 {
            self.emptied.notified().await;
        }
    }
}

pub struct Seat {
    watch: Rc<Watch>,
    registry: Rc<Registry>,
}

impl std::ops::Deref for Seat {
    type Target = Watch;
    #[inline]
    fn deref(&self) -> &Watch {
        &self.watch
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut watches = self.registry.watches.borrow_mut();
        let place = self.watch.place.get();
        watches.swap_remove(place);
        if let Some(moved) = watches.get(place) {
            moved.place.set(place);
        }
        if watches.is_empty() {
            self.registry.emptied.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leave_outlives_a_deadline_that_passes_meanwhile() {
        let clock = Clock::new();
        let registry = Rc::new(Registry::default());
        let seat = registry.enter(&clock);
        let cx = &mut Context::from_waker(Waker::noop());
        seat.enter(&clock, Phase::Work, Duration::ZERO);
        registry.raise(Alarm::Leave);
        registry.sweep(SWEEP * 2);
        assert_eq!(seat.poll_alarm(cx), Some(Alarm::Late));
        seat.enter(&clock, Phase::Work, Duration::MAX);
        assert_eq!(seat.poll_alarm(cx), None, "not while it works");
        seat.enter(&clock, Phase::Idle, Duration::MAX);
        assert_eq!(seat.poll_alarm(cx), Some(Alarm::Leave));
    }
}

//! A connection's place among those that are timed: at work while any of its streams is, idle between.

use crate::shared::Shared;
use mehari_net::deadline::{Phase, Seat};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// The connection's seat, idle while none of its streams is at work.
pub struct Presence {
    pub seat: Seat,
    pub active: Cell<usize>,
}

impl Presence {
    pub fn new(seat: Seat) -> Presence {
        Presence {
            seat,
            active: Cell::new(0),
        }
    }

    /// It asked for something that was answered at once.
    pub fn still_here(&self, shared: &Shared) {
        if self.active.get() == 0 {
            self.rest(shared);
        }
    }

    pub fn rest(&self, shared: &Shared) {
        let limit = shared.site().limits.keep_alive.unwrap_or(Duration::ZERO);
        self.seat.enter(&shared.clock, Phase::Idle, limit);
    }
}

/// A stream at work.
pub struct Working {
    shared: Rc<Shared>,
    presence: Rc<Presence>,
}

impl Working {
    pub fn begin(shared: &Rc<Shared>, presence: &Rc<Presence>) -> Working {
        presence.active.set(presence.active.get() + 1);
        presence
            .seat
            .enter(&shared.clock, Phase::Work, Duration::MAX);
        Working {
            shared: shared.clone(),
            presence: presence.clone(),
        }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.presence.active.set(self.presence.active.get() - 1);
        if self.presence.active.get() == 0 {
            self.presence.rest(&self.shared);
        }
    }
}

//! Counts the active streams of a connection. Without an active stream the connection is idle, and
//! the time limit of idle connections applies.

use crate::shared::Shared;
use mehari_net::deadline::{ConnectionGuard, Phase};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// The number of active streams, and the connection's guard, which is idle while no stream is
/// active.
pub struct ActiveStreams {
    pub guard: ConnectionGuard,
    pub active: Cell<usize>,
}

impl ActiveStreams {
    pub fn new(guard: ConnectionGuard) -> ActiveStreams {
        ActiveStreams {
            guard,
            active: Cell::new(0),
        }
    }

    /// Restarts the idle time after a request that was answered at once.
    pub fn note_activity(&self, shared: &Shared) {
        if self.active.get() == 0 {
            self.rest(shared);
        }
    }

    pub fn rest(&self, shared: &Shared) {
        let limit = shared.site().limits.keep_alive.unwrap_or(Duration::ZERO);
        self.guard.enter(&shared.clock, Phase::Idle, limit);
    }
}

/// An active stream. Dropping the value ends the counting of the stream.
pub struct Working {
    shared: Rc<Shared>,
    active_streams: Rc<ActiveStreams>,
}

impl Working {
    pub fn begin(shared: &Rc<Shared>, active_streams: &Rc<ActiveStreams>) -> Working {
        active_streams.active.set(active_streams.active.get() + 1);
        active_streams
            .guard
            .enter(&shared.clock, Phase::Work, Duration::MAX);
        Working {
            shared: shared.clone(),
            active_streams: active_streams.clone(),
        }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.active_streams
            .active
            .set(self.active_streams.active.get() - 1);
        if self.active_streams.active.get() == 0 {
            self.active_streams.rest(&self.shared);
        }
    }
}

//! Zygotes and workers: spawn, dispatch, spare policy, recycle, reload, limits.
//!
//! Lives on the front's one thread. The front calls [`Pool::submit`] with a complete request and
//! polls the [`Exchange`] it gets; nothing here knows HTTP.

mod call;
pub mod script_head;
pub mod variables;

pub use call::{Body, Call, Fault, Head, Task};

use std::task::{Context, Poll};

/// The dispatcher of one site. Cheap to clone; not `Send`: it belongs to the front's thread.
#[derive(Clone)]
pub struct Pool(std::rc::Rc<()>);

impl Pool {
    /// Takes a complete request. Never blocks: it goes to a worker, to the queue, or is refused in `poll_head`.
    pub fn submit(&self, _call: Call<'_>) -> Exchange {
        Exchange {
            _pool: self.clone(),
        }
    }
}

/// One request given to the pool. Dropped before it is answered: the client is gone; what has not begun is never run.
pub struct Exchange {
    _pool: Pool,
}

impl Exchange {
    /// The final response head, once. Interim (1xx) responses come first through `poll_interim`.
    pub fn poll_head(&mut self, _cx: &mut Context<'_>) -> Poll<Result<Head, Fault>> {
        Poll::Pending
    }

    /// Appends what has arrived of the body to `into` (at most about `room` bytes).
    /// `Ok(true)`: more may come. `Ok(false)`: the body is complete and nothing more will come.
    /// Reading is what frees the worker's ring: while the front does not call this, the worker waits.
    pub fn poll_body(
        &mut self,
        _cx: &mut Context<'_>,
        _into: &mut Vec<u8>,
        _room: usize,
    ) -> Poll<Result<bool, Fault>> {
        Poll::Pending
    }

    /// True when the whole response has arrived: `poll_body` will complete without waiting.
    pub fn is_complete(&self) -> bool {
        false
    }

    /// The operating-system id of the worker that took the request, if one has.
    pub fn worker(&self) -> Option<u32> {
        None
    }

    /// Time the request waited before a worker had it.
    pub fn queued(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}

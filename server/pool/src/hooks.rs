//! Makes the front's runtime. Before the runtime parks, it wakes the workers that have new requests
//! and reads the rings once more.

use crate::inner::Pool;
use std::cell::RefCell;
use std::io;

thread_local! {
    static POOL: RefCell<Option<Pool>> = const { RefCell::new(None) };
}

/// Returns a current-thread runtime that serves this thread's pool before it parks.
///
/// # Errors
///
/// The error of the system, if the event queue of the runtime cannot be made.
pub fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_park(before_park)
        .on_thread_unpark(after_unpark)
        .build()
}

impl Pool {
    /// Makes this thread's runtime serve this pool from now on.
    pub fn attach(&self) {
        POOL.with_borrow_mut(|slot| *slot = Some(self.clone()));
    }

    /// Lets the runtime continue without the pool, at the end of the server.
    pub fn detach(&self) {
        POOL.with_borrow_mut(|slot| *slot = None);
    }
}

/// Declares sleep and *then* reads the rings, so a worker that writes a record after this reading
/// sees the declaration. The runtime checks its task queue again before it parks, so tasks woken
/// here run. If no task is woken, the runtime parks and the declaration stays in force.
fn before_park() {
    POOL.with_borrow(|slot| {
        let Some(pool) = slot else { return };
        let mut inner = pool.borrow();
        inner.flush_wakes();
        inner.declare(true);
        if inner.scan() {
            inner.rebalance_if_deep();
            inner.flush_wakes();
        }
        inner.end_rest();
    });
}

fn after_unpark() {
    POOL.with_borrow(|slot| {
        if let Some(pool) = slot {
            pool.borrow().declare(false);
        }
    });
}

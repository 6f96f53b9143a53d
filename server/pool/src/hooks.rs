//! Makes the front's runtime. Before the runtime parks, it wakes the workers that have new requests
//! and reads the rings once more.

use crate::inner::Pool;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;

thread_local! {
    /// The server's pool, and for a while that of an exact profile.
    static POOLS: RefCell<Vec<Pool>> = const { RefCell::new(Vec::new()) };
}

/// Returns a current-thread runtime that serves this thread's pools before it parks.
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
        POOLS.with_borrow_mut(|pools| pools.push(self.clone()));
    }

    /// Lets the runtime continue without the pool, at the end of the pool.
    pub fn detach(&self) {
        POOLS.with_borrow_mut(|pools| pools.retain(|pool| !Rc::ptr_eq(&pool.0, &self.0)));
    }
}

/// Declares sleep and *then* reads the rings, so a worker that writes a record after this reading
/// sees the declaration. The runtime checks its task queue again before it parks, so tasks woken
/// here run. If no task is woken, the runtime parks and the declaration stays in force.
fn before_park() {
    POOLS.with_borrow(|pools| {
        for pool in pools {
            let mut inner = pool.borrow();
            inner.flush_wakes();
            inner.declare(true);
            if inner.scan() {
                inner.rebalance_if_deep();
                inner.flush_wakes();
            }
            inner.end_rest();
        }
    });
}

fn after_unpark() {
    POOLS.with_borrow(|pools| {
        for pool in pools {
            pool.borrow().declare(false);
        }
    });
}

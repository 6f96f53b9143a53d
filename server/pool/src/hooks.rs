//! The front's runtime. Before it parks, it issues the wakes and reads the rings once more.

use crate::inner::Pool;
use std::cell::RefCell;
use std::io;

thread_local! {
    static POOL: RefCell<Option<Pool>> = const { RefCell::new(None) };
}

/// A current-thread runtime that serves this thread's pool before it parks.
///
/// # Errors
///
/// The error of making the event queue of the runtime.
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

/// Declares sleep and *then* looks for work, so a worker that writes after the look sees the
/// declaration. The runtime checks its task queue again before it parks, so tasks woken here run.
/// If no task is woken, as after the end of a request whose response has been sent, the runtime
/// parks and the declaration stands.
fn before_park() {
    POOL.with_borrow(|slot| {
        let Some(pool) = slot else { return };
        let mut inner = pool.borrow();
        inner.flush_wakes();
        inner.bell.declare_sleep();
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
            pool.borrow().bell.declare_awake();
        }
    });
}

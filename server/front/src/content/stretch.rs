//! Which stretches of a file have just been seen in the page cache. What has been used within this sweep of the front is not
//! given up by the kernel in the next: nobody looks again until then, and a busy file costs no looks.

use std::cell::{Cell, RefCell};

/// Sent at a time at most, and remembered as one.
pub const STRETCH: u64 = 2 * 1024 * 1024;

#[derive(Debug, Default)]
pub struct Stretches {
    sweep: Cell<u64>,
    seen: RefCell<Vec<bool>>,
}

impl Stretches {
    pub fn have(&self, start: u64, sweep: u64) -> bool {
        let seen = self.seen.borrow();
        self.sweep.get() == sweep && seen.get(place(start)).copied().unwrap_or(false)
    }

    /// The stretch that begins here has been seen, all of it.
    pub fn note(&self, start: u64, sweep: u64) {
        let mut seen = self.seen.borrow_mut();
        if self.sweep.replace(sweep) != sweep {
            seen.clear();
        }
        let place = place(start);
        if seen.len() <= place {
            seen.resize(place + 1, false);
        }
        seen[place] = true;
    }
}

fn place(start: u64) -> usize {
    (start / STRETCH) as usize
}

/// Where the stretch of a place ends.
pub fn end(start: u64) -> u64 {
    (start / STRETCH + 1) * STRETCH
}

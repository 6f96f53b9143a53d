//! Remembers which stretches of a file were found in the page cache since the last sweep. In this
//! short time the kernel drops no recently used page, so a busy file needs no further probes.

use std::cell::{Cell, RefCell};

/// The length of a stretch in bytes. At most one stretch is sent at a time.
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

    /// Notes that the page cache holds the whole stretch at this position.
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

/// Returns the end of the stretch that contains this position.
pub fn end(start: u64) -> u64 {
    (start / STRETCH + 1) * STRETCH
}

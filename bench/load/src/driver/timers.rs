//! Keeps a thread's timers in order: think times, the pauses of slow clients, and withheld permits.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::moment::Moment;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// A user of a closed loop may go on, some time after a refused connection.
    Permit,
    /// The next burst of this visit.
    Burst(u32),
    /// The link of this token may continue to read.
    Read(u64),
}

#[derive(Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(Moment, Due)>>,
}

impl Timers {
    pub fn add(&mut self, at: Moment, due: Due) {
        self.heap.push(Reverse((at, due)));
    }

    pub fn next(&self) -> Moment {
        self.heap
            .peek()
            .map_or(Moment::NEVER, |Reverse((at, _))| *at)
    }

    /// Takes the earliest timer if it is due.
    pub fn take(&mut self, now: Moment) -> Option<(Moment, Due)> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}

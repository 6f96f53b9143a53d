//! What a program has said and its client has not taken yet, so that a slow client holds no worker.
//!
//! Memory first; then a temporary file; only when that is full too does the program have to wait.
//! Both HTTP versions put a program's bytes in here as fast as they come.

use crate::spool::{Spool, BATCH};
use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Bytes of one response that stay in memory.
const IN_MEMORY: usize = 2 * 1024 * 1024;
/// The same, and what is collected for the file at a time, while all backlogs together fill
/// `CROWDED` bytes of memory.
const IN_MEMORY_WHEN_CROWDED: usize = 64 * 1024;
const CROWDED: usize = 256 * 1024 * 1024;
/// Bytes of one response that its file may hold.
const IN_FILE: u64 = 1024 * 1024 * 1024;

pub struct Backlog {
    spool: Spool,
    /// The front's total of such bytes in memory, and which of them are this one's.
    total: Rc<Cell<usize>>,
    held: usize,
}

impl Backlog {
    pub fn new(total: &Rc<Cell<usize>>) -> Backlog {
        Backlog {
            spool: Spool::with_ring(IN_FILE),
            total: total.clone(),
            held: 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.spool.length() == 0
    }

    pub fn length(&self) -> u64 {
        self.spool.length()
    }

    /// Whether the program may say more; if not, `cx` is woken when a write to the file has ended,
    /// and otherwise it is the client's turn. `unsent` bytes are in memory elsewhere.
    pub fn has_room(&mut self, cx: &mut Context<'_>, unsent: usize) -> bool {
        let limit = match (self.total.get() > CROWDED, self.spool.has_file()) {
            (true, _) => IN_MEMORY_WHEN_CROWDED,
            (false, true) => BATCH,
            (false, false) => IN_MEMORY,
        };
        let _ = self.spool.poll_settle(cx, limit);
        self.hold(self.spool.in_memory() + unsent);
        self.spool.memory().len() <= limit
    }

    /// Where the program's next bytes go.
    pub fn memory(&mut self) -> &mut Vec<u8> {
        self.spool.memory()
    }

    /// The next bytes for the client. `None`: there are none.
    pub fn poll_take(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
        self.spool.poll_take(cx)
    }

    /// Throws everything away.
    pub fn clear(&mut self) {
        self.spool = Spool::with_ring(IN_FILE);
    }

    /// Why the temporary file takes no more; told once.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.spool.take_failure()
    }

    fn hold(&mut self, bytes: usize) {
        self.total.set(self.total.get() - self.held + bytes);
        self.held = bytes;
    }
}

impl Drop for Backlog {
    fn drop(&mut self) {
        self.hold(0);
    }
}

//! Holds a program's output that its client has not taken, so a slow client occupies no worker.
//!
//! A backlog uses memory, then a temporary file (one file for all responses of an HTTP/2
//! connection). Only when the file is full does the program wait. Both protocols store a program's
//! bytes here as fast as they arrive.

use crate::content::spool::{Container, Spool, BATCH};
use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll};

/// The limit of memory for one response, and for all responses of an HTTP/2 connection together.
const IN_MEMORY: usize = 2 * 1024 * 1024;
/// The limit for a response while its connection exceeds its share.
const IN_MEMORY_BEYOND_SHARE: usize = 16 * 1024;
/// The limit for a response while all responses together fill `CROWDED` bytes of memory. The file
/// is then also written in batches of this size.
const IN_MEMORY_WHEN_CROWDED: usize = 64 * 1024;
const CROWDED: usize = 256 * 1024 * 1024;
/// The limit of the file of one response, or of all responses of an HTTP/2 connection.
const IN_FILE: u64 = 1024 * 1024 * 1024;
/// Bytes taken from a program at a time, even when nearly all room is used.
const ROOM: usize = 64 * 1024;
const LEAST_ROOM: usize = 4 * 1024;

/// Bytes of responses in the front's memory that clients have not taken.
#[derive(Debug, Default)]
pub struct Unsent {
    /// The bytes that lie in backlogs.
    waiting: Cell<usize>,
    /// The bytes that were handed to the HTTP/2 library.
    pub handed: Arc<AtomicUsize>,
}

impl Unsent {
    pub fn bytes(&self) -> usize {
        self.waiting.get() + self.handed.load(Ordering::Relaxed)
    }

    /// Whether all responses together fill so much memory that each gets little.
    pub fn is_crowded(&self) -> bool {
        self.bytes() > CROWDED
    }
}

/// The waiting bytes of a page that the server has made. They lie in no backlog.
pub struct WaitingPage {
    unsent: Rc<Unsent>,
    bytes: usize,
}

impl WaitingPage {
    pub fn new(unsent: &Rc<Unsent>, bytes: usize) -> WaitingPage {
        unsent.waiting.set(unsent.waiting.get() + bytes);
        WaitingPage {
            unsent: unsent.clone(),
            bytes,
        }
    }
}

impl Drop for WaitingPage {
    fn drop(&mut self) {
        let waiting = &self.unsent.waiting;
        waiting.set(waiting.get() - self.bytes);
    }
}

/// The common state of the backlogs of one connection.
#[derive(Debug)]
pub struct Share {
    waiting: Cell<usize>,
    container: Arc<Container>,
}

impl Default for Share {
    fn default() -> Share {
        Share {
            waiting: Cell::new(0),
            container: Arc::new(Container::new(IN_FILE)),
        }
    }
}

pub struct Backlog {
    spool: Spool,
    unsent: Rc<Unsent>,
    /// The share, if the connection carries other responses too.
    share: Option<Rc<Share>>,
    /// The part of `unsent` and `share` that belongs to this backlog.
    held: usize,
}

impl Backlog {
    pub fn new(unsent: &Rc<Unsent>, share: Option<Rc<Share>>) -> Backlog {
        Backlog {
            spool: spool(share.as_deref()),
            unsent: unsent.clone(),
            share,
            held: 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.spool.length() == 0
    }

    pub fn length(&self) -> u64 {
        self.spool.length()
    }

    /// How many bytes the program may send. If it may send none, `cx` is woken when a write to the
    /// file ends; otherwise the client must read first. `unsent`: bytes that wait in memory
    /// elsewhere.
    pub fn room(&mut self, cx: &mut Context<'_>, unsent: usize) -> usize {
        let limit = self.limit();
        let _ = self.spool.poll_settle(cx, limit);
        self.hold(self.spool.in_memory() + unsent);
        match limit.checked_sub(self.spool.memory().len()) {
            Some(room) => room.clamp(LEAST_ROOM, ROOM),
            None => 0,
        }
    }

    fn limit(&self) -> usize {
        let has_more_than_its_share = |share: &Rc<Share>| share.waiting.get() > IN_MEMORY;
        if self.share.as_ref().is_some_and(has_more_than_its_share) {
            IN_MEMORY_BEYOND_SHARE
        } else if self.unsent.is_crowded() {
            IN_MEMORY_WHEN_CROWDED
        } else if self.spool.has_file() {
            BATCH
        } else {
            IN_MEMORY
        }
    }

    /// The buffer for the program's next bytes.
    pub fn memory(&mut self) -> &mut Vec<u8> {
        self.spool.memory()
    }

    /// Returns the next bytes for the client: at most `most` bytes from the file, or all bytes in
    /// memory. `None`: the backlog is empty.
    pub fn poll_take(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
    ) -> Poll<io::Result<Option<Vec<u8>>>> {
        self.spool.poll_take(cx, most)
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        self.spool = spool(self.share.as_deref());
    }

    /// Returns once why the temporary file takes no more.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.spool.take_failure()
    }

    fn hold(&mut self, bytes: usize) {
        let update = |total: &Cell<usize>| total.set(total.get() - self.held + bytes);
        update(&self.unsent.waiting);
        if let Some(share) = &self.share {
            update(&share.waiting);
        }
        self.held = bytes;
    }
}

fn spool(share: Option<&Share>) -> Spool {
    match share {
        Some(share) => Spool::within(&share.container),
        None => Spool::with_ring(IN_FILE),
    }
}

impl Drop for Backlog {
    fn drop(&mut self) {
        self.hold(0);
    }
}

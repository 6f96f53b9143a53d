//! Holds the part of a program's output, or of a page that the server has made, that the client has
//! not taken. A slow client therefore occupies no worker.
//!
//! A backlog uses memory first, then a temporary file. All responses of an HTTP/2 connection share
//! one file. The program waits only when the file is full. The codecs of HTTP/1 and HTTP/2 store
//! the bytes of a program here as fast as they arrive.

use crate::content::spool::{Container, Spool, BATCH};
use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll};

/// The most bytes in memory for one response, and for all responses of an HTTP/2 connection
/// together.
const IN_MEMORY: usize = 2 * 1024 * 1024;
/// The most bytes in memory for a response while the responses of its connection exceed
/// `IN_MEMORY`.
const IN_MEMORY_BEYOND_SHARE: usize = 16 * 1024;
/// The most bytes in memory for a response while all responses of the front exceed `CROWDED` bytes.
/// The file is then also written in batches of this size.
const IN_MEMORY_WHEN_CROWDED: usize = 64 * 1024;
const CROWDED: usize = 256 * 1024 * 1024;
/// The most bytes in memory for all responses of the front. Beyond them, a page that is larger than
/// its own limit is given up, even if it is being written to the file.
const FULL: usize = 2 * CROWDED;
/// The most bytes in the file of one response, or in the file of an HTTP/2 connection.
const IN_FILE: u64 = 1024 * 1024 * 1024;
/// The most bytes taken from a program at a time. `LEAST_ROOM`: the fewest bytes that the backlog
/// accepts while it is not full.
const ROOM: usize = 64 * 1024;
const LEAST_ROOM: usize = 4 * 1024;

/// Counts the bytes of responses in the front's memory that clients have not taken.
#[derive(Debug, Default)]
pub struct Unsent {
    /// The bytes in the memory of backlogs.
    waiting: Cell<usize>,
    /// The bytes in the memory of the HTTP/2 library.
    pub handed: Arc<AtomicUsize>,
}

impl Unsent {
    pub fn bytes(&self) -> usize {
        self.waiting.get() + self.handed.load(Ordering::Relaxed)
    }

    /// Returns whether all responses together fill much memory. Each response may then use only
    /// little.
    pub fn is_crowded(&self) -> bool {
        self.bytes() > CROWDED
    }
}

/// The state that the backlogs of one connection share.
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
    /// The state shared with other backlogs, if the connection carries several responses.
    share: Option<Rc<Share>>,
    /// The bytes that this backlog has added to `unsent` and `share`.
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

    /// Returns how many bytes the program may send. After 0, the program may send again when a
    /// write to the file ends, which wakes `cx`, or when the client has read. `unsent`: bytes of
    /// the response that wait in memory elsewhere.
    pub fn room(&mut self, cx: &mut Context<'_>, unsent: usize) -> usize {
        let limit = self.limit();
        let _ = self.spool.poll_settle(cx, limit);
        self.hold(self.spool.in_memory() + unsent);
        match limit.checked_sub(self.spool.memory().len()) {
            Some(room) => room.clamp(LEAST_ROOM, ROOM),
            None => 0,
        }
    }

    /// Whether too much of a page is in memory: all responses together fill much memory, and the
    /// file takes no more or is too slow. A program would wait, but a page is already complete.
    pub fn overflows(&mut self, cx: &mut Context<'_>) -> bool {
        let limit = self.limit();
        self.unsent.is_crowded()
            && self.spool.in_memory() > limit
            && (self.spool.poll_settle(cx, limit).is_ready() || self.unsent.bytes() > FULL)
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

    /// Returns the buffer for the program's next bytes.
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

    /// Drops all bytes.
    pub fn clear(&mut self) {
        self.spool = spool(self.share.as_deref());
    }

    /// Returns the error that has ended writing to the temporary file, but only once.
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

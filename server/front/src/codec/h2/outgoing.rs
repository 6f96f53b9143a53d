//! Counts the bytes that the library holds for the streams of a connection.
//!
//! The library holds as many bytes as the client's windows allow until the socket takes the bytes.
//! A client could fill the memory with large windows if it reads nothing. All streams of a
//! connection together therefore hand over only a limited number of bytes.

use crate::content::backlog::{Share, Unsent};
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// From this many held bytes on, the streams of a connection wait for the socket. The second limit
/// holds while the responses of all connections fill much memory.
const LIMIT: usize = 512 * 1024;
const LIMIT_WHEN_CROWDED: usize = 64 * 1024;

pub struct Outgoing {
    handed: Arc<Handed>,
    unsent: Rc<Unsent>,
    /// The connection's budget for bytes that wait before they reach the library.
    pub share: Rc<Share>,
    /// Streams that wait for the socket.
    waiting: RefCell<Vec<Waker>>,
    /// How often waiting streams were woken.
    rounds: Cell<u64>,
    /// Whether the connection has ended, and the streams that wait for its end.
    closed: Cell<bool>,
    listening: RefCell<Vec<Waker>>,
}

/// Tells the streams, when it is dropped, that the connection has ended.
pub struct ClosingNotice(pub Rc<Outgoing>);

impl Drop for ClosingNotice {
    fn drop(&mut self) {
        self.0.closed.set(true);
        self.0.listening.take().into_iter().for_each(Waker::wake);
    }
}

/// Numbers of bytes that the library holds, for this connection and for all connections.
struct Handed {
    own: AtomicUsize,
    all: Arc<AtomicUsize>,
}

/// Bytes that are counted until the library frees them.
struct Counted {
    bytes: Bytes,
    handed: Arc<Handed>,
}

impl Outgoing {
    pub fn new(unsent: &Rc<Unsent>) -> Outgoing {
        Outgoing {
            handed: Arc::new(Handed {
                own: AtomicUsize::new(0),
                all: unsent.handed.clone(),
            }),
            unsent: unsent.clone(),
            share: Rc::default(),
            waiting: RefCell::default(),
            rounds: Cell::new(0),
            closed: Cell::new(false),
            listening: RefCell::default(),
        }
    }

    /// Returns the same bytes. They are counted until the library frees them.
    pub fn count(&self, bytes: Bytes) -> Bytes {
        self.handed.own.fetch_add(bytes.len(), Ordering::Relaxed);
        self.handed.all.fetch_add(bytes.len(), Ordering::Relaxed);
        let handed = self.handed.clone();
        Bytes::from_owner(Counted { bytes, handed })
    }

    fn has_room(&self) -> bool {
        let limit = if self.unsent.is_crowded() {
            LIMIT_WHEN_CROWDED
        } else {
            LIMIT
        };
        self.handed.own.load(Ordering::Relaxed) < limit
    }

    /// Waits until a stream may hand over bytes.
    pub fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.has_room() {
            return Poll::Ready(());
        }
        let mut waiting = self.waiting.borrow_mut();
        if !waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            waiting.push(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Returns whether the connection has ended. If not, its end wakes `cx`.
    pub fn poll_closed(&self, cx: &Context<'_>) -> bool {
        let mut listening = self.listening.borrow_mut();
        if !self.closed.get() && !listening.iter().any(|waker| waker.will_wake(cx.waker())) {
            listening.push(cx.waker().clone());
        }
        self.closed.get()
    }

    /// Wakes the waiting streams in order, after the socket has been polled.
    pub fn wake(&self) {
        if self.waiting.borrow().is_empty() || !self.has_room() {
            return;
        }
        self.rounds.set(self.rounds.get() + 1);
        self.waiting.take().into_iter().for_each(Waker::wake);
    }

    /// Returns how often waiting streams were woken. The number grows while the socket takes bytes
    /// of the connection.
    pub fn rounds(&self) -> u64 {
        self.rounds.get()
    }
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let count = self.bytes.len();
        self.handed.own.fetch_sub(count, Ordering::Relaxed);
        self.handed.all.fetch_sub(count, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_wait_while_the_library_holds_much_and_go_on_when_it_lets_go() {
        let unsent = Rc::<Unsent>::default();
        let outgoing = Outgoing::new(&unsent);
        let cx = &mut Context::from_waker(Waker::noop());
        assert!(outgoing.poll_room(cx).is_ready());
        let mut held = outgoing.count(vec![7; LIMIT].into());
        assert_eq!(unsent.bytes(), LIMIT);
        assert!(outgoing.poll_room(cx).is_pending());
        outgoing.wake();
        assert_eq!(outgoing.rounds(), 0, "nothing has left");
        let part = held.split_to(10);
        drop(held);
        assert_eq!(unsent.bytes(), LIMIT, "a part keeps the whole buffer");
        drop(part);
        assert_eq!(unsent.bytes(), 0);
        outgoing.wake();
        assert_eq!(outgoing.rounds(), 1);
        assert!(outgoing.poll_room(cx).is_ready());
    }
}

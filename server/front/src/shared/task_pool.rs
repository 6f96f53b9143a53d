//! Keeps tasks that serve one connection after another. Making a task costs as much as reading a
//! request, so a task does not end with its connection but waits for the next connection.

use crate::request::Peer;
use mehari_net::deadline::ConnectionGuard;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// A connection without a task.
pub struct PendingConnection {
    pub socket: OwnedFd,
    pub peer: Peer,
    pub guard: ConnectionGuard,
}

/// The most waiting tasks. Further tasks end with their connection.
const WAITING: usize = 128;

#[derive(Default)]
pub struct TaskPool {
    waiting: RefCell<Vec<Rc<Slot>>>,
}

/// The place in which a waiting task receives the next connection.
#[derive(Default)]
pub struct Slot {
    connection: Cell<Option<PendingConnection>>,
    waker: Cell<Option<Waker>>,
}

impl TaskPool {
    /// Gives the connection to a waiting task. If no task waits, returns the connection.
    pub fn hand(&self, connection: PendingConnection) -> Option<PendingConnection> {
        let free = self.waiting.borrow_mut().pop();
        match free {
            Some(slot) => {
                slot.hand(connection);
                None
            }
            None => Some(connection),
        }
    }

    /// Lets a task wait at its slot. Returns false if enough tasks wait.
    pub fn wait(&self, slot: &Rc<Slot>) -> bool {
        let mut waiting = self.waiting.borrow_mut();
        let wanted = waiting.len() < WAITING;
        if wanted {
            waiting.push(slot.clone());
        }
        wanted
    }
}

impl Slot {
    fn hand(&self, connection: PendingConnection) {
        self.connection.set(Some(connection));
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Waits for the next connection and returns it.
    pub async fn arrival(&self) -> PendingConnection {
        poll_fn(|cx| match self.connection.take() {
            Some(connection) => Poll::Ready(connection),
            None => {
                self.waker.set(Some(cx.waker().clone()));
                Poll::Pending
            }
        })
        .await
    }
}

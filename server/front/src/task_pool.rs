//! Tasks that serve one connection after another: making a task costs as much as reading a request,
//! so a task whose connection is over waits for the next connection.

use crate::accept;
use crate::deadline::Seat;
use crate::request::Peer;
use crate::shared::Shared;
use crate::socket::LazyRegistered;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Poll, Waker};
use tokio::net::TcpStream;
use tokio::task::spawn_local;

/// A connection that no task serves yet.
pub struct PendingConnection {
    pub socket: OwnedFd,
    pub peer: Peer,
    pub seat: Seat,
}

/// Tasks that wait at most; others end with their connection.
const WAITING: usize = 128;

#[derive(Default)]
pub struct TaskPool {
    waiting: RefCell<Vec<Rc<Slot>>>,
}

/// Where a waiting task finds its next connection.
#[derive(Default)]
struct Slot {
    connection: Cell<Option<PendingConnection>>,
    waker: Cell<Option<Waker>>,
}

impl TaskPool {
    fn wait(&self, slot: &Rc<Slot>) -> bool {
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

    async fn arrival(&self) -> PendingConnection {
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

/// Gives the connection to a waiting task, or to a new one.
pub fn serve(shared: &Rc<Shared>, connection: PendingConnection) {
    let free = shared.tasks.waiting.borrow_mut().pop();
    match free {
        Some(slot) => slot.hand(connection),
        None => drop(spawn_local(work(shared.clone(), connection))),
    }
}

async fn work(shared: Rc<Shared>, mut connection: PendingConnection) {
    let slot = Rc::default();
    loop {
        let socket = LazyRegistered::<TcpStream>::new(connection.socket);
        accept::serve(shared.clone(), socket, connection.peer, connection.seat).await;
        if !shared.tasks.wait(&slot) {
            return;
        }
        connection = slot.arrival().await;
    }
}

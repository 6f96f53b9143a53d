//! Tasks that serve one connection after another. Making a task costs as much as reading a request does, so one
//! whose connection is over waits for the next.

use crate::accept;
use crate::deadline::Seat;
use crate::request::Peer;
use crate::shared::Shared;
use crate::socket::Unwatched;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Poll, Waker};
use tokio::net::TcpStream;
use tokio::task::spawn_local;

/// A connection that begins.
pub struct Guest {
    pub socket: OwnedFd,
    pub peer: Peer,
    pub seat: Seat,
}

/// Tasks beyond these end with their connection.
const WAITING: usize = 128;

#[derive(Default)]
pub struct Crew {
    waiting: RefCell<Vec<Rc<Place>>>,
}

/// Where a waiting task finds its next connection.
#[derive(Default)]
struct Place {
    guest: Cell<Option<Guest>>,
    waker: Cell<Option<Waker>>,
}

impl Crew {
    fn wait(&self, place: &Rc<Place>) -> bool {
        let mut waiting = self.waiting.borrow_mut();
        let wanted = waiting.len() < WAITING;
        if wanted {
            waiting.push(place.clone());
        }
        wanted
    }
}

impl Place {
    fn hand(&self, guest: Guest) {
        self.guest.set(Some(guest));
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    async fn arrival(&self) -> Guest {
        poll_fn(|cx| match self.guest.take() {
            Some(guest) => Poll::Ready(guest),
            None => {
                self.waker.set(Some(cx.waker().clone()));
                Poll::Pending
            }
        })
        .await
    }
}

/// Has the connection served by whoever is free.
pub fn serve(shared: &Rc<Shared>, guest: Guest) {
    let free = shared.crew.waiting.borrow_mut().pop();
    match free {
        Some(place) => place.hand(guest),
        None => drop(spawn_local(work(shared.clone(), guest))),
    }
}

async fn work(shared: Rc<Shared>, mut guest: Guest) {
    let place = Rc::default();
    loop {
        let socket = Unwatched::<TcpStream>::new(guest.socket);
        accept::serve(shared.clone(), socket, guest.peer, guest.seat).await;
        if !shared.crew.wait(&place) {
            return;
        }
        guest = place.arrival().await;
    }
}

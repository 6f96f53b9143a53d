//! A connection with a back end: its socket, what was read ahead of need, and its timer.

use crate::trust::Greeting;
use crate::{Fault, Socket};
use bytes::BufMut;
use mehari_config::BackEndAddress;
use std::future::Future;
use std::io;
use std::pin::{pin, Pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, Sleep};

/// Read at a time while a head or a record is looked for.
const READ: usize = 16 * 1024;

/// Bytes that have come; those before `used` are done with.
#[derive(Default)]
pub struct Input {
    come: Vec<u8>,
    used: usize,
}

impl Input {
    /// What has come and was not used.
    pub fn bytes(&self) -> &[u8] {
        &self.come[self.used..]
    }

    pub fn consume(&mut self, count: usize) {
        self.used += count;
        if self.used == self.come.len() {
            self.come.clear();
            self.used = 0;
        }
    }

    /// As if they had been read.
    pub fn push(&mut self, bytes: &[u8]) {
        self.room().extend_from_slice(bytes);
    }

    /// Where more goes.
    fn room(&mut self) -> &mut Vec<u8> {
        if self.used > READ {
            self.come.drain(..self.used);
            self.used = 0;
        }
        self.come.reserve(READ);
        &mut self.come
    }

    /// Gives a large buffer back.
    fn release(&mut self) {
        if self.come.capacity() > 4 * READ {
            self.come = Vec::new();
        }
    }
}

pub struct Connection {
    pub socket: Socket,
    /// What has come and was not used.
    pub input: Input,
    /// It has served a request before this one: that it is closed now says nothing about the member.
    pub reused: bool,
    /// When it fell idle.
    pub(crate) idle_since: Instant,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Connection {
    pub fn new(socket: Socket) -> Connection {
        Connection {
            socket,
            input: Input::default(),
            reused: false,
            idle_since: Instant::now(),
            timer: None,
        }
    }

    /// Reads once into the input. `Ok(0)`: the back end says no more.
    pub fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut room = self.input.room().limit(READ);
        pin!(self.socket.read_buf(&mut room)).poll(cx)
    }

    /// Reads once, past the input, into somebody else's buffer.
    pub fn poll_read_into(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        debug_assert!(self.input.bytes().is_empty());
        into.reserve(most);
        let mut room = into.limit(most);
        pin!(self.socket.read_buf(&mut room)).poll(cx)
    }

    /// Gives the back end until `deadline` for its next byte, or to take one.
    pub fn arm(&mut self, deadline: Instant) {
        match &mut self.timer {
            Some(timer) => timer.as_mut().reset(deadline),
            None => self.timer = Some(Box::pin(tokio::time::sleep_until(deadline))),
        }
    }

    pub fn poll_late(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(timer) = &mut self.timer else {
            return false;
        };
        // A timer is not ready for a task that has done much in this turn of the loop.
        timer.as_mut().poll(cx).is_ready() || Instant::now() >= timer.deadline()
    }

    /// Ready for the pool: whoever used it last is not woken by it any more.
    pub(crate) fn rest(&mut self, now: Instant) {
        self.reused = true;
        self.idle_since = now;
        self.input.release();
        let _ = self.has_stirred();
    }

    /// The back end closed it, or spoke unasked: of no use. Costs no system call while the loop has
    /// seen nothing happen on it.
    pub(crate) fn has_stirred(&mut self) -> bool {
        let nobody = nobody();
        self.socket.has_stirred(&mut Context::from_waker(&nobody))
    }
}

fn nobody() -> Waker {
    struct Nobody;
    impl Wake for Nobody {
        fn wake(self: Arc<Self>) {}
    }
    thread_local! {
        static NOBODY: Waker = Arc::new(Nobody).into();
    }
    NOBODY.with(Waker::clone)
}

/// A connection being opened.
pub struct Connecting(Pin<Box<dyn Future<Output = Result<Connection, Fault>>>>);

impl Connecting {
    pub fn new(
        address: BackEndAddress,
        greeting: Result<Option<Greeting>, Fault>,
        limit: Duration,
    ) -> Connecting {
        Connecting(Box::pin(async move {
            let greeting = greeting?;
            let socket = Socket::connect(&address, greeting.as_ref());
            match tokio::time::timeout(limit, socket).await {
                Ok(socket) => socket.map(Connection::new),
                Err(_) => Err(Fault::ConnectTimedOut),
            }
        }))
    }

    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Connection, Fault>> {
        self.0.as_mut().poll(cx)
    }
}

//! Holds a connection to a back end: its socket, bytes read ahead, and its timer.

use crate::trust::BackEndTls;
use crate::{Fault, Socket};
use bytes::BufMut;
use mehari_config::BackEndAddress;
use std::future::Future;
use std::io;
use std::pin::{pin, Pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, Sleep};

/// The number of bytes per read while a head or a record is searched.
const READ: usize = 16 * 1024;

/// Received bytes. The bytes before `used` are consumed.
#[derive(Default)]
pub struct Input {
    come: Vec<u8>,
    used: usize,
}

impl Input {
    /// Returns the bytes that are not consumed.
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

    /// Appends bytes as if they had been read.
    pub fn push(&mut self, bytes: &[u8]) {
        self.read_buffer().extend_from_slice(bytes);
    }

    /// Returns the buffer for the next read.
    fn read_buffer(&mut self) -> &mut Vec<u8> {
        if self.used > READ {
            self.come.drain(..self.used);
            self.used = 0;
        }
        self.come.reserve(READ);
        &mut self.come
    }

    /// Frees a large buffer.
    fn release(&mut self) {
        if self.come.capacity() > 4 * READ {
            self.come = Vec::new();
        }
    }
}

pub struct Connection {
    pub socket: Socket,
    /// The received bytes that are not consumed.
    pub input: Input,
    /// Whether the connection has served an earlier request. If such a connection turns out to be
    /// closed, the member is not at fault.
    pub reused: bool,
    /// When the connection became idle.
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

    /// Reads once into the input. Returns `Ok(0)` if the back end has closed the connection.
    pub fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut room = self.input.read_buffer().limit(READ);
        pin!(self.socket.read_buf(&mut room)).poll(cx)
    }

    /// Reads once into the caller's buffer. The bytes do not pass through the input.
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

    /// Sets the deadline for the next byte in either direction.
    pub fn arm(&mut self, deadline: Instant) {
        match &mut self.timer {
            Some(timer) => timer.as_mut().reset(deadline),
            None => self.timer = Some(Box::pin(tokio::time::sleep_until(deadline))),
        }
    }

    pub fn poll_timed_out(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(timer) = &mut self.timer else {
            return false;
        };
        // A timer is never ready for a task that has used up its share of this turn of the event
        // loop.
        timer.as_mut().poll(cx).is_ready() || Instant::now() >= timer.deadline()
    }

    /// Makes the connection idle, so that it no longer wakes its last user.
    pub(crate) fn rest(&mut self, now: Instant) {
        self.reused = true;
        self.idle_since = now;
        self.input.release();
        let _ = self.is_stale();
    }

    /// Returns whether the back end has closed the connection or sent unexpected bytes. The
    /// connection is then useless. The check needs no system call if the event loop has noticed no
    /// event.
    pub(crate) fn is_stale(&mut self) -> bool {
        self.socket
            .is_stale(&mut Context::from_waker(Waker::noop()))
    }
}

/// A connection that is being opened.
pub struct Connecting(Pin<Box<dyn Future<Output = Result<Connection, Fault>>>>);

impl Connecting {
    pub fn new(
        address: BackEndAddress,
        tls: Result<Option<BackEndTls>, Fault>,
        limit: Duration,
    ) -> Connecting {
        Connecting(Box::pin(async move {
            let tls = tls?;
            let socket = Socket::connect(&address, tls.as_ref());
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

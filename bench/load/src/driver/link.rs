//! Defines a link: one connection with the requests under way on it. The worker uses links.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

use rustix::net::SendFlags;

use crate::moment::Moment;
use crate::observe::{ConnectTimes, ObservedExchange};
use crate::response::Reader;

use super::http2::Http2;
use super::receive::{self, Received};
use super::tls::Tls;

/// An arrival on its way to a connection.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub request: usize,
    pub visit: Option<u32>,
    pub intended: Moment,
    pub permitted: Moment,
}

/// A request under way.
#[derive(Debug)]
pub struct Flight {
    pub job: Job,
    pub begun: Moment,
    /// Whether the connection was opened for this request.
    pub opened: bool,
    pub calls_before: u32,
    pub write_begun: Moment,
    pub written: Moment,
    pub first_byte: Moment,
    pub sent_bytes: u64,
    /// The bytes that carry a session's cookies. HTTP/1 sends them instead of the rendered request;
    /// HTTP/2 sends them after the rendered block.
    pub own_bytes: Option<Box<[u8]>>,
}

impl Flight {
    pub fn new(job: Job, begun: Moment, opened: bool, calls_before: u32) -> Flight {
        Flight {
            job,
            begun,
            opened,
            calls_before,
            write_begun: Moment::NEVER,
            written: Moment::NEVER,
            first_byte: Moment::NEVER,
            sent_bytes: 0,
            own_bytes: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Connecting,
    /// The TLS handshake is under way.
    Securing,
    Open,
}

/// The serial number and connect times of a link, for samples.
#[derive(Clone, Copy)]
pub struct LinkRecord {
    pub serial: u64,
    pub times: ConnectTimes,
}

pub struct Link {
    pub socket: OwnedFd,
    pub tls: Option<Box<Tls>>,
    /// Present on an HTTP/2 connection. `in_flight` then holds the requests without a stream.
    pub http2: Option<Box<Http2>>,
    pub serial: u64,
    pub endpoint: usize,
    pub phase: Phase,
    pub times: ConnectTimes,
    /// Requests in sending order. The next response belongs to the first request.
    pub in_flight: VecDeque<Flight>,
    /// How many requests of `in_flight` are sent completely, and how many bytes of the request
    /// after them.
    pub sent: usize,
    pub sent_of_next: usize,
    pub reader: Reader,
    /// The numbers of requests begun and answered on this connection.
    pub calls: u32,
    pub answered: u32,
    /// A slow client does not read before this moment.
    pub next_read: Moment,
    /// Whether a timer will resume the reading.
    pub paused: bool,
    /// Whether the worker's list of idle connections holds this connection.
    pub listed: bool,
}

impl Link {
    pub fn record(&self) -> LinkRecord {
        LinkRecord {
            serial: self.serial,
            times: self.times,
        }
    }

    pub fn new(socket: OwnedFd, serial: u64, endpoint: usize, begun: Moment) -> Link {
        Link {
            socket,
            tls: None,
            http2: None,
            serial,
            endpoint,
            phase: Phase::Connecting,
            times: ConnectTimes {
                begun,
                ..ConnectTimes::default()
            },
            in_flight: VecDeque::new(),
            sent: 0,
            sent_of_next: 0,
            reader: Reader::new(),
            calls: 0,
            answered: 0,
            next_read: Moment::ZERO,
            paused: false,
            listed: false,
        }
    }

    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        match &mut self.tls {
            None => receive::receive(&self.socket, buffer),
            Some(tls) => tls.receive(&self.socket, buffer),
        }
    }

    /// Returns whether the connection has room for another request. `streams` is the plan's number
    /// of concurrent HTTP/2 streams.
    pub fn has_room(&self, streams: usize) -> bool {
        match &self.http2 {
            Some(http2) => http2.has_room(self.in_flight.len(), streams),
            None => self.in_flight.is_empty(),
        }
    }

    /// Returns the exchange whose response comes next on an HTTP/1 connection.
    pub fn exchange(&self) -> Option<ObservedExchange> {
        self.in_flight.front().map(|flight| ObservedExchange {
            request: flight.job.request,
            connection: self.serial,
            intended: flight.job.intended,
            status: self.reader.facts().status,
        })
    }
}

/// Sends bytes, through TLS if the link has TLS. Returns `WouldBlock` if the socket takes no bytes
/// now.
pub fn send(socket: &OwnedFd, tls: &mut Option<Box<Tls>>, bytes: &[u8]) -> io::Result<usize> {
    match tls {
        None => Ok(rustix::net::send(socket, bytes, SendFlags::NOSIGNAL)?),
        Some(tls) => tls.send(socket, bytes),
    }
}

/// The connections of a thread. A token names a connection in the event queue. The token becomes
/// invalid when the connection ends.
#[derive(Default)]
pub struct Links {
    slots: Vec<Option<Box<Link>>>,
    free: Vec<usize>,
    pub open: u64,
}

impl Links {
    pub fn token(index: usize, serial: u64) -> u64 {
        index as u64 | (serial << 32)
    }

    /// Returns the slot of the token's connection; `None` if the connection is closed.
    pub fn index(&self, token: u64) -> Option<usize> {
        let index = (token & 0xffff_ffff) as usize;
        let link = self.slots.get(index)?.as_ref()?;
        (Links::token(index, link.serial) == token).then_some(index)
    }

    pub fn vacant(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        })
    }

    pub fn put(&mut self, index: usize, link: Link) {
        self.slots[index] = Some(Box::new(link));
        self.open += 1;
    }

    /// Gives back a slot that `vacant` returned and the caller did not use.
    pub fn unused(&mut self, index: usize) {
        self.free.push(index);
    }

    pub fn get(&mut self, index: usize) -> Option<&mut Link> {
        self.slots.get_mut(index)?.as_deref_mut()
    }

    pub fn remove(&mut self, index: usize) -> Option<Box<Link>> {
        let link = self.slots.get_mut(index)?.take()?;
        self.free.push(index);
        self.open -= 1;
        Some(link)
    }

    pub fn indices(&self) -> std::ops::Range<usize> {
        0..self.slots.len()
    }
}

//! Reads from links at full speed or as a slow client, and passes the bytes to the response reader.

use std::io;
use std::time::Duration;

use url::Url;

use crate::moment::Moment;
use crate::observe::{FailureKind, ObservedExchange, Observer};
use crate::response::{Head, Listener};

use super::super::cookies::Jar;
use super::super::link::Links;
use super::super::receive::Received;
use super::super::timers::Due;
use super::exchange::broken;
use super::Worker;

/// How many small reads a slow client makes per second.
const SLOW_READS_A_SECOND: u64 = 50;
/// After a time without bytes a slow client reads faster, to catch up. It catches up on at most
/// these nanoseconds.
const SLOWEST_CATCH_UP: u64 = 100_000_000;

/// The arrival time of bytes (from the kernel's stamp if there is one), and the time of reading
/// them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub came: Moment,
    pub now: Moment,
}

impl Reading {
    /// Returns the arrival time, but no earlier than `earliest`.
    pub fn of(self, earliest: Moment) -> Moment {
        self.came.max(earliest).min(self.now)
    }
}

/// Passes the parts of a response to the observer.
struct Ear<'a, O> {
    observer: &'a mut O,
    exchange: ObservedExchange,
    jar: Option<(&'a Url, &'a mut Jar)>,
}

impl<O: Observer> Listener for Ear<'_, O> {
    fn head(&mut self, head: &Head, bytes: &[u8]) {
        self.exchange.status = head.status;
        if let Some((url, jar)) = &mut self.jar {
            jar.take(url, bytes);
        }
        self.observer.head(&self.exchange, bytes);
    }

    fn body(&mut self, piece: &[u8]) {
        self.observer.body(&self.exchange, piece);
    }
}

impl<O: Observer> Worker<'_, O> {
    /// Resumes the reading of a slow client after its pause.
    pub(super) fn read_on(&mut self, token: u64, buffer: &mut [u8]) {
        let Some(index) = self.links.index(token) else {
            return;
        };
        if let Some(link) = self.links.get(index) {
            link.paused = false;
            self.read(index, true, buffer);
        }
    }

    /// Returns how many bytes may be read now; `None` if a slow client has to wait for its timer.
    fn allowance(&mut self, index: usize) -> Option<usize> {
        let Some(rate) = self.plan.connection.throttle else {
            return Some(usize::MAX);
        };
        let now = self.clock.now();
        let link = self.links.get(index)?;
        if now >= link.next_read {
            return Some(
                usize::try_from(rate / SLOW_READS_A_SECOND)
                    .unwrap_or(usize::MAX)
                    .max(1),
            );
        }
        if !link.paused {
            link.paused = true;
            let due = Due::Read(Links::token(index, link.serial));
            self.timers.add(link.next_read, due);
        }
        None
    }

    /// Sets the time of a slow client's next read according to the bytes that it has read. A late
    /// timer does not slow the client further.
    fn charge(&mut self, index: usize, count: usize, now: Moment) {
        let Some(rate) = self.plan.connection.throttle else {
            return;
        };
        let Some(link) = self.links.get(index) else {
            return;
        };
        let kept = now.0.saturating_sub(SLOWEST_CATCH_UP);
        let cost = count as u128 * 1_000_000_000 / u128::from(rate);
        link.next_read =
            Moment(link.next_read.0.max(kept)).after(Duration::from_nanos(cost as u64));
    }

    /// Reads the available bytes. With `ending`, reads until the end of the connection.
    pub(super) fn read(&mut self, index: usize, ending: bool, buffer: &mut [u8]) {
        loop {
            let Some(allowance) = self.allowance(index) else {
                return;
            };
            let Some(link) = self.links.get(index) else {
                return;
            };
            let most = buffer.len().min(allowance);
            let has_more = link.tls.is_some() || allowance != usize::MAX;
            let result = link.receive(&mut buffer[..most]);
            let now = self.clock.now();
            match result {
                Ok(Received { count: 0, .. }) => return self.ended(index, now),
                Ok(Received { count, stamp }) => {
                    let came = self.wall.moment(stamp, now);
                    self.totals.received_bytes += count as u64;
                    self.charge(index, count, now);
                    if !self.take(index, &buffer[..count], Reading { came, now }) {
                        return;
                    }
                    if count < most && !ending && !has_more {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.fail_link(index, broken(&error), Some(&error), now),
            }
        }
    }

    /// Feeds bytes to the reader. Returns whether the link is still open.
    fn take(&mut self, index: usize, mut bytes: &[u8], reading: Reading) -> bool {
        let now = reading.now;
        if self.plan.connection.http2_streams.is_some() {
            return self.take_frames(index, bytes, reading);
        }
        loop {
            let Some(link) = self.links.get(index) else {
                return false;
            };
            let Some(exchange) = link.exchange() else {
                // These bytes answer no request, so the connection is not used again.
                if !bytes.is_empty() {
                    self.close(index, now);
                }
                return bytes.is_empty();
            };
            if let Some(flight) = link.in_flight.front_mut() {
                let came = reading.of(flight.write_begun);
                flight.first_byte = flight.first_byte.min(came);
            }
            let visit = link.in_flight.front().and_then(|flight| flight.job.visit);
            let url = self.prepared.rendered[exchange.request].url.as_ref();
            let jar = visit
                .and_then(|visit| self.visits.get(visit))
                .and_then(|visit| url.zip(visit.jar.as_mut()));
            let mut ear = Ear {
                observer: &mut self.observer,
                exchange,
                jar,
            };
            match link.reader.feed(bytes, &mut ear) {
                Ok(progress) => {
                    bytes = &bytes[progress.consumed..];
                    if !progress.complete {
                        return true;
                    }
                    let token = Links::token(index, link.serial);
                    self.answered(index, reading);
                    if self.links.index(token).is_none() {
                        return false;
                    }
                    if bytes.is_empty() {
                        return true;
                    }
                }
                Err(fault) => {
                    self.observer.trouble(FailureKind::BadResponse, &fault);
                    self.fail_link(index, FailureKind::BadResponse, None, now);
                    return false;
                }
            }
        }
    }

    /// Handles the end of the server's sending.
    fn ended(&mut self, index: usize, now: Moment) {
        let Some(link) = self.links.get(index) else {
            return;
        };
        if link.http2.is_some() {
            return self.fail_link(index, FailureKind::Reset, None, now);
        }
        if link.in_flight.is_empty() {
            return self.close(index, now);
        }
        if link.reader.end() {
            return self.answered(index, Reading { came: now, now });
        }
        let kind = if link.reader.has_begun() {
            FailureKind::ShortBody
        } else {
            FailureKind::Reset
        };
        self.fail_link(index, kind, None, now);
    }
}

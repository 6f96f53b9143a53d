//! Writing requests and reading responses on open links.

use std::io;
use std::time::Duration;

use crate::moment::Moment;
use crate::observe::{ConnectTimes, Exchange, FailureKind, Observer, Sample};
use crate::response::{Facts, Head, Listener};

use super::super::cookies::Jar;
use super::super::epoll::Event;
use super::super::link::{send, Flight, Links, Phase};
use super::super::timers::Due;
use super::Worker;

/// Into so many small reads a slow client's second is divided.
const SLOW_READS_A_SECOND: u64 = 50;
/// Nanoseconds: what a slow client did not read within this time because nothing was there, it may read later.
const SLOWEST_CATCH_UP: u64 = 100_000_000;

/// Passes the parts of a response on to the observer.
struct Ear<'a, O> {
    observer: &'a mut O,
    exchange: Exchange,
    jar: Option<(usize, &'a mut Jar)>,
}

impl<O: Observer> Listener for Ear<'_, O> {
    fn head(&mut self, head: &Head, bytes: &[u8]) {
        self.exchange.status = head.status;
        if let Some((endpoint, jar)) = &mut self.jar {
            jar.take(*endpoint, bytes);
        }
        self.observer.head(&self.exchange, bytes);
    }

    fn body(&mut self, piece: &[u8]) {
        self.observer.body(&self.exchange, piece);
    }
}

impl<O: Observer> Worker<'_, O> {
    pub(super) fn on_event(&mut self, event: Event, buffer: &mut [u8]) {
        let Some(index) = self.links.index(event.token()) else {
            return;
        };
        let Some(link) = self.links.get(index) else {
            return;
        };
        if link.phase == Phase::Securing {
            self.secure(index);
            // What came with the end of the handshake makes no further event.
            let token = event.token();
            let open = self
                .links
                .index(token)
                .and_then(|index| self.links.get(index));
            if open.is_some_and(|link| link.phase == Phase::Open) {
                self.read(index, event.ending(), buffer);
            }
            return;
        }
        if link.phase == Phase::Connecting {
            if event.writable() {
                self.connected(index, event);
            }
            return;
        }
        if event.writable() {
            if let Some(tls) = &mut link.tls {
                // What cannot go out shows as an error at the next read.
                let _ = tls.flush(&link.socket);
            }
        }
        if event.writable() && link.http2.is_some() {
            let now = self.clock.now();
            self.flush(index, now);
        } else if event.writable() && link.sent < link.in_flight.len() {
            let now = self.clock.now();
            self.write(index, now);
        }
        if event.readable() && self.links.index(event.token()).is_some() {
            self.read(index, event.ending(), buffer);
        }
    }

    /// Hands the kernel as much of the waiting requests as it takes.
    pub(super) fn write(&mut self, index: usize, now: Moment) {
        let prepared = self.prepared;
        loop {
            let Some(link) = self.links.get(index) else {
                return;
            };
            let Some(flight) = link.in_flight.get_mut(link.sent) else {
                return;
            };
            let own = flight.own_bytes.take();
            let bytes = own
                .as_deref()
                .unwrap_or(&prepared.rendered[flight.job.request].bytes);
            flight.write_begun = flight.write_begun.min(now);
            let result = send(&link.socket, &mut link.tls, &bytes[link.sent_of_next..]);
            let length = bytes.len();
            flight.own_bytes = own;
            match result {
                Ok(count) => {
                    flight.sent_bytes += count as u64;
                    link.sent_of_next += count;
                    self.totals.sent_bytes += count as u64;
                    if link.sent_of_next == length {
                        self.was_sent(index, now);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let kind = broken(&error);
                    return self.fail_link(index, kind, Some(&error), now);
                }
            }
        }
    }

    fn was_sent(&mut self, index: usize, now: Moment) {
        let written = if O::WRITE_TIMES {
            self.clock.now()
        } else {
            now
        };
        let Some(link) = self.links.get(index) else {
            return;
        };
        let serial = link.serial;
        let Some(flight) = link.in_flight.get_mut(link.sent) else {
            return;
        };
        flight.written = written;
        let exchange = Exchange {
            request: flight.job.request,
            connection: serial,
            intended: flight.job.intended,
            status: 0,
        };
        self.observer.sent(&exchange, flight.sent_bytes);
        link.sent += 1;
        link.sent_of_next = 0;
    }

    /// A slow client's pause is over.
    pub(super) fn read_on(&mut self, token: u64, buffer: &mut [u8]) {
        let Some(index) = self.links.index(token) else {
            return;
        };
        if let Some(link) = self.links.get(index) {
            link.paused = false;
            self.read(index, true, buffer);
        }
    }

    /// How much may be read now; `None` when a slow client has to wait for its timer.
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

    /// Charges a slow client for what it read; a timer's own lateness is not lost to it.
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

    /// Reads what has come. `ending`: the connection is to be read to its end.
    fn read(&mut self, index: usize, ending: bool, buffer: &mut [u8]) {
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
                Ok(0) => return self.ended(index, now),
                Ok(count) => {
                    self.totals.received_bytes += count as u64;
                    self.charge(index, count, now);
                    if !self.take(index, &buffer[..count], now) {
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

    /// Gives bytes to the reader; answers whether the link is still there.
    fn take(&mut self, index: usize, mut bytes: &[u8], now: Moment) -> bool {
        if self.plan.connection.http2_streams.is_some() {
            return self.take_frames(index, bytes, now);
        }
        loop {
            let Some(link) = self.links.get(index) else {
                return false;
            };
            let Some(exchange) = link.exchange() else {
                // Bytes nobody asked for: this connection cannot be trusted with another request.
                if !bytes.is_empty() {
                    self.close(index, now);
                }
                return bytes.is_empty();
            };
            if let Some(flight) = link.in_flight.front_mut() {
                flight.first_byte = flight.first_byte.min(now);
            }
            let visit = link.in_flight.front().and_then(|flight| flight.job.visit);
            let endpoint = link.endpoint;
            let jar = visit
                .and_then(|visit| self.visits.get(visit))
                .map(|visit| (endpoint, &mut visit.jar));
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
                    self.answered(index, now);
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

    /// The server finished sending.
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
            return self.answered(index, now);
        }
        let kind = match link.reader.has_begun() {
            false => FailureKind::Reset,
            true => FailureKind::ShortBody,
        };
        self.fail_link(index, kind, None, now);
    }

    /// A response is complete: tell, and use the connection and the permit again.
    fn answered(&mut self, index: usize, now: Moment) {
        let Some(link) = self.links.get(index) else {
            return;
        };
        let Some(flight) = link.in_flight.pop_front() else {
            return;
        };
        let facts = *link.reader.facts();
        let was_sent = link.sent > 0;
        link.sent = link.sent.saturating_sub(1);
        link.answered += 1;
        if let Some(next) = link.in_flight.front() {
            link.reader
                .begin(self.prepared.rendered[next.job.request].bodiless);
        }
        let reusable = facts.persistent && was_sent && self.plan.connection.keep_alive;
        let link = (link.serial, link.times);
        self.tell_answer(&flight, &facts, link, reusable, now);
        match flight.job.visit {
            None => {
                self.give_permit(now);
                self.go_on(index, reusable, now);
            }
            Some(_) => {
                if !reusable {
                    self.fail_link(index, FailureKind::Reset, None, now);
                }
                self.visit_answered(&flight, facts.status, now);
                self.begin_arrivals(now);
            }
        }
    }

    pub(super) fn tell_answer(
        &mut self,
        flight: &Flight,
        facts: &Facts,
        (connection, times): (u64, ConnectTimes),
        kept_alive: bool,
        now: Moment,
    ) {
        let sample = Sample {
            request: flight.job.request,
            connection,
            calls_before: flight.calls_before,
            intended: flight.job.intended,
            permitted: flight.job.permitted,
            begun: flight.begun,
            connect: flight.opened.then_some(times),
            write_begun: flight.write_begun,
            written: flight.written,
            first_byte: flight.first_byte,
            done: now,
            status: facts.status,
            sent_bytes: flight.sent_bytes,
            head_bytes: facts.head_bytes,
            body_bytes: facts.body_bytes,
            framing_bytes: facts.framing_bytes,
            kept_alive,
            measured: self.supply.measures(flight.job.intended),
        };
        self.observer.completed(&sample);
        self.totals.completed += 1;
        self.untold.0 += 1;
        self.under_way -= 1;
    }

    /// What the connection and the freed permit are used for next.
    fn go_on(&mut self, index: usize, reusable: bool, now: Moment) {
        let job = self.next_job(now);
        let Some(link) = self.links.get(index) else {
            return;
        };
        let endpoint = link.endpoint;
        match job {
            Some(job) if reusable && self.prepared.rendered[job.request].endpoint == endpoint => {
                return self.begin(index, job, now, false);
            }
            _ if reusable => self.list(index),
            _ => self.close(index, now),
        }
        if let Some(job) = job {
            self.dispatch(job, now);
        }
    }
}

/// The class of an error met on an open connection.
fn broken(error: &io::Error) -> FailureKind {
    match error.kind() {
        io::ErrorKind::InvalidData => FailureKind::Tls,
        _ => FailureKind::Reset,
    }
}

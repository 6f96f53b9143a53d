//! Handles the events of links: writes requests, and reports each complete answer.

use std::io;

use crate::moment::Moment;
use crate::observe::{FailureKind, ObservedExchange, Observer, Sample};
use crate::response::Facts;

use super::super::epoll::Event;
use super::super::link::{send, Flight, LinkRecord, Phase};
use super::reading::Reading;
use super::Worker;

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
            // For bytes that came together with the end of the handshake there is no further event.
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
                // An error of this flush shows at the next read.
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

    /// Passes the waiting requests to the kernel, as far as it takes their bytes.
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
        let exchange = ObservedExchange {
            request: flight.job.request,
            connection: serial,
            intended: flight.job.intended,
            status: 0,
        };
        self.observer.sent(&exchange, flight.sent_bytes);
        link.sent += 1;
        link.sent_of_next = 0;
    }

    /// Reports a complete response and reuses the connection and the permit.
    pub(super) fn answered(&mut self, index: usize, reading: Reading) {
        let now = reading.now;
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
        let link = link.record();
        self.report_answer(&flight, &facts, link, reusable, reading);
        match flight.job.visit {
            None => {
                self.give_permit(reading.came);
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

    pub(super) fn report_answer(
        &mut self,
        flight: &Flight,
        facts: &Facts,
        link: LinkRecord,
        kept_alive: bool,
        reading: Reading,
    ) {
        let done = reading.of(flight.first_byte.min(reading.now));
        let sample = Sample {
            request: flight.job.request,
            connection: link.serial,
            calls_before: flight.calls_before,
            intended: flight.job.intended,
            permitted: flight.job.permitted,
            begun: flight.begun,
            connect: flight.opened.then_some(link.times),
            write_begun: flight.write_begun,
            written: flight.written,
            first_byte: flight.first_byte,
            done,
            read: reading.now,
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
        self.untold.completed += 1;
        self.requests_in_flight -= 1;
    }

    /// Uses the connection and the freed permit for the next arrival.
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

/// Returns the failure class of an error on an open connection.
pub(super) fn broken(error: &io::Error) -> FailureKind {
    match error.kind() {
        io::ErrorKind::InvalidData => FailureKind::Tls,
        _ => FailureKind::Reset,
    }
}

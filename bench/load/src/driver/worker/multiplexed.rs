//! Drives the worker's HTTP/2 links. A link carries many exchanges at once, and they end in any
//! order.

use std::io;

use url::Url;

use crate::moment::Moment;
use crate::observe::{FailureKind, ObservedExchange, Observer};

use super::super::cookies::Jar;
use super::super::http2::{hpack, EndedStream, Listener, Stream};
use super::super::link::{send, LinkRecord, Links};
use super::super::prepared::Prepared;
use super::super::visit::Visits;
use super::failure::Broken;
use super::reading::Reading;
use super::Worker;

/// Passes the parts of responses to the observer and the cookie jars.
struct Ear<'a, O> {
    observer: &'a mut O,
    visits: &'a mut Visits,
    prepared: &'a Prepared<'a>,
    connection: u64,
}

impl<'a, O: Observer> Ear<'a, O> {
    fn exchange(&self, stream: &Stream) -> ObservedExchange {
        ObservedExchange {
            request: stream.flight.job.request,
            connection: self.connection,
            intended: stream.flight.job.intended,
            status: stream.facts.status,
        }
    }

    fn jar(&mut self, stream: &Stream) -> Option<(&'a Url, &mut Jar)> {
        let visit = self.visits.get(stream.flight.job.visit?)?;
        let url = self.prepared.rendered[stream.flight.job.request]
            .url
            .as_ref();
        url.zip(visit.jar.as_mut())
    }
}

impl<O: Observer> Listener for Ear<'_, O> {
    fn head(&mut self, stream: &Stream, block: &[u8]) {
        let wanted = self.observer.wants_head();
        if self.jar(stream).is_none() && !wanted {
            return;
        }
        let text = hpack::as_text(block);
        if let Some((url, jar)) = self.jar(stream) {
            jar.take(url, text.as_bytes());
        }
        let exchange = self.exchange(stream);
        self.observer.head(&exchange, text.as_bytes());
    }

    fn body(&mut self, stream: &Stream, piece: &[u8]) {
        let exchange = self.exchange(stream);
        self.observer.body(&exchange, piece);
    }
}

impl<O: Observer> Worker<'_, O> {
    /// Opens streams for the waiting requests of this link.
    pub(super) fn start_streams(&mut self, index: usize, now: Moment) {
        let prepared = self.prepared;
        let Some(link) = self.links.get(index) else {
            return;
        };
        let Some(http2) = &mut link.http2 else { return };
        while http2.may_start() {
            let Some(mut flight) = link.in_flight.pop_front() else {
                break;
            };
            let rendered = &prepared.rendered[flight.job.request];
            let block = &rendered.block;
            let body = &self.plan.requests[flight.job.request].body;
            flight.write_begun = now;
            flight.written = now;
            let exchange = ObservedExchange {
                request: flight.job.request,
                connection: link.serial,
                intended: flight.job.intended,
                status: 0,
            };
            let sent = http2.start(flight, block, body);
            if let Some(stream) = http2.streams.last_mut() {
                stream.flight.sent_bytes = sent;
            }
            self.observer.sent(&exchange, sent);
        }
        if self.reading != Some(index) {
            self.flush(index, now);
        }
    }

    /// Passes the connection's waiting bytes to the kernel.
    pub(super) fn flush(&mut self, index: usize, now: Moment) {
        loop {
            let Some(link) = self.links.get(index) else {
                return;
            };
            let Some(http2) = &mut link.http2 else { return };
            if http2.unsent().is_empty() {
                return;
            }
            match send(&link.socket, &mut link.tls, http2.unsent()) {
                Ok(count) => {
                    http2.was_sent(count);
                    self.totals.sent_bytes += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.fail_link(index, FailureKind::Reset, Some(&error), now),
            }
        }
    }

    /// Feeds bytes to the connection. Returns whether the connection is still open.
    pub(super) fn take_frames(&mut self, index: usize, mut bytes: &[u8], reading: Reading) -> bool {
        let now = reading.now;
        self.reading = Some(index);
        let alive = self.take_each_frame(index, &mut bytes, reading);
        if alive {
            // Ended streams have made room for waiting requests.
            self.start_streams(index, now);
        }
        self.reading = None;
        if alive {
            self.flush(index, now);
        }
        alive && self.links.get(index).is_some()
    }

    fn take_each_frame(&mut self, index: usize, bytes: &mut &[u8], reading: Reading) -> bool {
        let now = reading.now;
        loop {
            let Some(link) = self.links.get(index) else {
                return false;
            };
            let token = Links::token(index, link.serial);
            let Some(http2) = &mut link.http2 else {
                return false;
            };
            let mut ear = Ear {
                observer: &mut self.observer,
                visits: &mut self.visits,
                connection: link.serial,
                prepared: self.prepared,
            };
            http2.came = reading.came;
            match http2.feed(bytes, &mut ear) {
                Ok(None) => {
                    let done = http2.closing && http2.streams.is_empty();
                    if done {
                        self.close(index, now);
                    }
                    return !done;
                }
                Ok(Some(EndedStream::Answered(stream))) => {
                    self.stream_answered(index, stream, reading)
                }
                Ok(Some(EndedStream::Refused(stream))) => {
                    let mut flight = stream.flight;
                    flight.written = Moment::NEVER;
                    link.in_flight.push_front(flight);
                }
                Ok(Some(EndedStream::Reset(stream))) => {
                    self.stream_failed(index, stream, FailureKind::Reset, now);
                }
                Err(_) => {
                    let why = "the bytes are not HTTP/2";
                    self.observer.trouble(FailureKind::BadResponse, &why);
                    self.fail_link(index, FailureKind::BadResponse, None, now);
                    return false;
                }
            }
            if self.links.index(token).is_none() {
                return false;
            }
        }
    }

    fn stream_answered(&mut self, index: usize, stream: Stream, reading: Reading) {
        let now = reading.now;
        let Some(link) = self.links.get(index) else {
            return;
        };
        link.answered += 1;
        let record = link.record();
        self.report_answer(&stream.flight, &stream.facts, record, true, reading);
        self.list(index);
        match stream.flight.job.visit {
            None => {
                self.give_permit(reading.came);
                if let Some(job) = self.next_job(now) {
                    self.dispatch(job, now);
                }
            }
            Some(_) => {
                self.visit_answered(&stream.flight, stream.facts.status, now);
                self.begin_arrivals(now);
            }
        }
    }

    fn stream_failed(&mut self, index: usize, stream: Stream, kind: FailureKind, now: Moment) {
        let Some(link) = self.links.get(index) else {
            return;
        };
        let link = Some(link.record());
        self.fail(
            &stream.flight,
            link,
            &stream.facts,
            Broken {
                kind,
                error: None,
                now,
            },
        );
        self.list(index);
    }

    /// Ends the streams that have waited too long. Returns the earliest deadline of the remaining
    /// streams.
    pub(super) fn time_out_streams(&mut self, index: usize, now: Moment) -> Moment {
        let timeout = self.plan.connection.timeout;
        let mut next = Moment::NEVER;
        let mut place = 0;
        while let Some(http2) = self.links.get(index).and_then(|link| link.http2.as_mut()) {
            let Some(stream) = http2.streams.get(place) else {
                break;
            };
            let deadline = stream.flight.begun.after(timeout);
            if deadline > now {
                next = next.min(deadline);
                place += 1;
                continue;
            }
            let stream = http2.cancel(place);
            self.stream_failed(index, stream, FailureKind::TimeOut, now);
            self.flush(index, now);
        }
        next
    }

    /// Ends all streams of a closed link.
    pub(super) fn fail_streams(&mut self, streams: Vec<Stream>, link: LinkRecord, at: Broken) {
        for stream in streams {
            self.fail(&stream.flight, Some(link), &stream.facts, at);
        }
    }
}

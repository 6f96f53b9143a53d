//! From a job to a connection that carries it: an idle one, or a new one.

use std::io;
use std::os::fd::AsFd;

use crate::moment::Moment;
use crate::observe::{Connected, FailureKind, Observer};

use super::super::epoll::Event;
use super::super::link::{Flight, Job, Link, Links, Phase};
use super::super::socket;
use super::Worker;

impl<O: Observer> Worker<'_, O> {
    /// Puts a job on an idle connection to its endpoint, or opens one.
    pub(super) fn dispatch(&mut self, job: Job, now: Moment) {
        let endpoint = self.prepared.rendered[job.request].endpoint;
        match self.idle_link(endpoint) {
            Some(index) => self.begin(index, job, now, false),
            None => self.open(endpoint, job, now),
        }
    }

    fn idle_link(&mut self, endpoint: usize) -> Option<usize> {
        while let Some(token) = self.idle[endpoint].pop() {
            if let Some(index) = self.links.index(token) {
                return Some(index);
            }
        }
        None
    }

    pub(super) fn open(&mut self, endpoint: usize, job: Job, now: Moment) {
        let address = &self.prepared.endpoints[endpoint].address;
        let index = self.links.vacant();
        let serial = self.serial;
        let opened =
            socket::connect(address, &self.plan.connection, &mut self.source).and_then(|socket| {
                self.epoll
                    .watch(socket.as_fd(), Links::token(index, serial))?;
                Ok(socket)
            });
        match opened {
            Ok(socket) => {
                self.serial += 1;
                self.totals.connections += 1;
                self.links
                    .put(index, Link::new(socket, serial, endpoint, now));
                self.totals.most_connections = self.totals.most_connections.max(self.links.open);
                if let Some(visit) = job.visit {
                    self.visit_opened(visit, endpoint, Links::token(index, serial));
                }
                self.observer.connecting(serial, now);
                self.begin(index, job, now, true);
            }
            Err(error) => {
                self.links.unused(index);
                self.refuse(job, now, &error);
            }
        }
    }

    /// Puts a job on this connection; it is written at once if that is open.
    pub(super) fn begin(&mut self, index: usize, job: Job, now: Moment, opened: bool) {
        self.next_deadline = self
            .next_deadline
            .min(now.after(self.plan.connection.timeout));
        let own_bytes = self.own_bytes(&job);
        let Some(link) = self.links.get(index) else {
            return;
        };
        if link.in_flight.is_empty() {
            link.reader
                .begin(self.prepared.rendered[job.request].bodiless);
        }
        link.in_flight.push_back(Flight {
            job,
            begun: now,
            opened,
            calls_before: link.calls,
            write_begun: Moment::NEVER,
            written: Moment::NEVER,
            first_byte: Moment::NEVER,
            sent_bytes: 0,
            own_bytes,
        });
        link.calls += 1;
        if link.phase == Phase::Open {
            self.write(index, now);
        }
    }

    /// The bytes of a request that carries a session's cookies.
    fn own_bytes(&mut self, job: &Job) -> Option<Box<[u8]>> {
        let line = self.cookie_line(job)?;
        Some(
            self.plan.requests[job.request]
                .bytes(&line)
                .into_boxed_slice(),
        )
    }

    /// The socket of a connecting link became writable.
    pub(super) fn connected(&mut self, index: usize, event: Event) {
        let now = self.clock.now();
        let Some(link) = self.links.get(index) else {
            return;
        };
        if event.ending() {
            if let Some(error) = socket::error_of(&link.socket) {
                return self.fail_link(index, connect_failure(&error), Some(&error), now);
            }
        }
        link.phase = Phase::Open;
        link.times.established = now;
        link.times.secured = now;
        let connected = Connected {
            connection: link.serial,
            times: link.times,
            tls: None,
        };
        self.observer.connected(&connected);
        self.write(index, now);
    }
}

/// The class of an error met while a connection was being made.
pub(super) fn connect_failure(error: &io::Error) -> FailureKind {
    match error.raw_os_error() {
        Some(libc::EADDRNOTAVAIL | libc::EADDRINUSE) => FailureKind::NoPort,
        Some(libc::EMFILE | libc::ENFILE) => FailureKind::NoDescriptor,
        Some(libc::ETIMEDOUT) => FailureKind::TimeOut,
        Some(libc::ENOMEM | libc::ENOBUFS | libc::EACCES | libc::EPERM) => FailureKind::Other,
        _ => FailureKind::Connect,
    }
}

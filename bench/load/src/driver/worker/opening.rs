//! Assigns a job to an idle connection or to a new connection.

use std::io;
use std::os::fd::AsFd;

use crate::moment::Moment;
use crate::observe::{Connected, FailureKind, Observer};

use super::super::epoll::Event;
use super::super::http2::{hpack, Http2};
use super::super::link::{Flight, Job, Link, Links, Phase};
use super::super::socket;
use super::super::tls::{Handshake, Tls};
use super::Worker;

impl<O: Observer> Worker<'_, O> {
    /// Puts a job on an idle connection to its endpoint, or opens a connection.
    pub(super) fn dispatch(&mut self, job: Job, now: Moment) {
        let endpoint = self.prepared.rendered[job.request].endpoint;
        match self.idle_link(endpoint) {
            Some(index) => self.begin(index, job, now, false),
            None => self.open(endpoint, job, now),
        }
    }

    fn idle_link(&mut self, endpoint: usize) -> Option<usize> {
        while let Some(token) = self.idle[endpoint].pop() {
            let Some(index) = self.links.index(token) else {
                continue;
            };
            let streams = self.streams();
            let Some(link) = self.links.get(index) else {
                continue;
            };
            link.listed = false;
            if link.has_room(streams) {
                return Some(index);
            }
        }
        None
    }

    /// Adds a link with room to the idle links of its endpoint.
    pub(super) fn list(&mut self, index: usize) {
        let streams = self.streams();
        let Some(link) = self.links.get(index) else {
            return;
        };
        if !link.listed && link.has_room(streams) {
            link.listed = true;
            let (endpoint, token) = (link.endpoint, Links::token(index, link.serial));
            self.idle[endpoint].push(token);
        }
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
                let mut link = Link::new(socket, serial, endpoint, now);
                link.http2 = self
                    .plan
                    .connection
                    .http2_streams
                    .map(|_| Box::new(Http2::new()));
                self.links.put(index, link);
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

    /// Puts a job on this connection. The request is written at once if the connection is open.
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
        let mut flight = Flight::new(job, now, opened, link.calls);
        flight.own_bytes = own_bytes;
        link.in_flight.push_back(flight);
        link.calls += 1;
        let open = link.phase == Phase::Open;
        if link.http2.is_some() {
            if open {
                self.start_streams(index, now);
            }
            // Visits do not share their connections.
            if job.visit.is_none() {
                self.list(index);
            }
        } else if open {
            self.write(index, now);
        }
    }

    /// Returns the bytes that carry a session's cookies: for HTTP/1 the whole request, for HTTP/2 a
    /// header block with the cookies only. Returns `None` if the session has no cookie for the
    /// request.
    fn own_bytes(&mut self, job: &Job) -> Option<Box<[u8]>> {
        let cookies = self.cookies(job)?;
        let bytes = match self.plan.connection.http2_streams {
            None => {
                let line = format!("Cookie: {cookies}\r\n");
                self.plan.requests[job.request].bytes(line.as_bytes())
            }
            Some(_) => {
                let mut block = Vec::new();
                hpack::field(&mut block, "cookie", &cookies);
                block
            }
        };
        Some(bytes.into_boxed_slice())
    }

    /// Handles a connecting link whose socket became writable.
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
        link.times.established = now;
        let target = &self.prepared.endpoints[link.endpoint];
        let Some((configuration, name)) = self.tls.as_ref().zip(target.server_name.as_ref()) else {
            return self.is_open(index, now);
        };
        match Tls::new(configuration, name) {
            Ok(tls) => {
                link.tls = Some(Box::new(tls));
                link.phase = Phase::Securing;
                self.secure(index);
            }
            Err(error) => self.fail_link(index, FailureKind::Tls, Some(&error), now),
        }
    }

    /// Continues the TLS handshake.
    pub(super) fn secure(&mut self, index: usize) {
        let Some(link) = self.links.get(index) else {
            return;
        };
        let Some(tls) = &mut link.tls else { return };
        let shaken = tls.shake_hands(&link.socket);
        let agreed = tls.has_agreed_on_http2() || self.plan.connection.http2_streams.is_none();
        let now = self.clock.now();
        match shaken {
            Ok(Handshake::Waiting) => {}
            Ok(Handshake::Done) if agreed => self.is_open(index, now),
            Ok(Handshake::Done) => {
                let why = "the server does not speak HTTP/2";
                self.observer.trouble(FailureKind::Tls, &why);
                self.fail_link(index, FailureKind::Tls, None, now);
            }
            Err(error) => self.fail_link(index, FailureKind::Tls, Some(&error), now),
        }
    }

    /// Starts requests on a connection that is now open.
    fn is_open(&mut self, index: usize, now: Moment) {
        let Some(link) = self.links.get(index) else {
            return;
        };
        link.phase = Phase::Open;
        link.times.secured = now;
        let facts = link
            .tls
            .as_ref()
            .filter(|_| O::TLS_FACTS)
            .map(|tls| tls.facts());
        let connected = Connected {
            connection: link.serial,
            times: link.times,
            tls: facts.as_ref(),
        };
        self.observer.connected(&connected);
        if link.http2.is_some() {
            self.start_streams(index, now)
        } else {
            self.write(index, now)
        }
    }
}

/// Returns the failure class of an error during the opening of a connection.
pub(super) fn connect_failure(error: &io::Error) -> FailureKind {
    match error.raw_os_error() {
        Some(libc::EADDRNOTAVAIL | libc::EADDRINUSE) => FailureKind::NoPort,
        Some(libc::EMFILE | libc::ENFILE) => FailureKind::NoDescriptor,
        Some(libc::ETIMEDOUT) => FailureKind::TimeOut,
        Some(libc::ENOMEM | libc::ENOBUFS | libc::EACCES | libc::EPERM) => FailureKind::Other,
        _ => FailureKind::Connect,
    }
}

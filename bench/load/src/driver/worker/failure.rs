//! Reports unanswered requests: after broken connections, after time-outs, and at the end of the
//! run.

use std::io;

use crate::moment::Moment;
use crate::observe::{Closed, Failure, FailureKind, Observer};
use crate::response::Facts;

use super::super::link::{Flight, Job, Link, LinkRecord};
use super::super::timers::Due;
use super::opening::connect_failure;
use super::{Worker, PAUSE_AFTER_REFUSAL};

impl<O: Observer> Worker<'_, O> {
    /// Reports a job for which no connection could be started.
    pub(super) fn refuse(&mut self, job: Job, now: Moment, error: &io::Error) {
        self.observer.trouble(connect_failure(error), error);
        let flight = Flight::new(job, now, false, 0);
        let at = Broken {
            kind: connect_failure(error),
            error: error.raw_os_error(),
            now,
        };
        self.fail(&flight, None, &Facts::default(), at);
    }

    /// Ends a connection and all requests under way on it.
    pub(super) fn fail_link(
        &mut self,
        index: usize,
        kind: FailureKind,
        error: Option<&io::Error>,
        now: Moment,
    ) {
        let Some(mut link) = self.remove(index, now) else {
            return;
        };
        if let Some(error) = error {
            self.observer.trouble(kind, error);
        }
        let at = Broken {
            kind,
            error: error.and_then(io::Error::raw_os_error),
            now,
        };
        let identity = link.record();
        let mut facts = *link.reader.facts();
        while let Some(flight) = link.in_flight.pop_front() {
            self.fail(&flight, Some(identity), &facts, at);
            facts = Facts::default();
        }
        if let Some(http2) = &mut link.http2 {
            self.fail_streams(std::mem::take(&mut http2.streams), identity, at);
        }
    }

    /// Ends a connection without requests under way.
    pub(super) fn close(&mut self, index: usize, now: Moment) {
        self.remove(index, now);
    }

    fn remove(&mut self, index: usize, now: Moment) -> Option<Box<Link>> {
        let link = self.links.remove(index)?;
        self.observer.closed(&Closed {
            connection: link.serial,
            times: link.times,
            at: now,
            answered: link.answered,
        });
        Some(link)
    }

    pub(super) fn fail(
        &mut self,
        flight: &Flight,
        link: Option<LinkRecord>,
        facts: &Facts,
        at: Broken,
    ) {
        let job = flight.job;
        self.observer.failed(&Failure {
            request: job.request,
            connection: link.map_or(self.serial, |link| link.serial),
            calls_before: flight.calls_before,
            intended: job.intended,
            permitted: job.permitted,
            begun: flight.begun,
            connect: link.filter(|_| flight.opened).map(|link| link.times),
            write_begun: flight.write_begun,
            written: flight.written,
            first_byte: flight.first_byte,
            at: at.now,
            kind: at.kind,
            system_error: at.error,
            status: facts.status,
            sent_bytes: flight.sent_bytes,
            head_bytes: facts.head_bytes,
            body_bytes: facts.body_bytes,
            framing_bytes: facts.framing_bytes,
            measured: self.supply.measures(job.intended),
        });
        self.totals.failed += 1;
        self.untold.failed += 1;
        self.requests_in_flight -= 1;
        let refused = matches!(
            at.kind,
            FailureKind::Connect | FailureKind::NoPort | FailureKind::NoDescriptor
        );
        if let Some(visit) = job.visit {
            return self.visit_failed(visit, refused, at.now);
        }
        if refused && !self.supply.is_open() {
            self.timers
                .add(at.now.after(PAUSE_AFTER_REFUSAL), Due::Permit)
        } else {
            self.give_permit(at.now)
        }
    }

    /// Ends requests that have waited too long, and computes the next deadline.
    pub(super) fn time_out(&mut self, now: Moment) {
        let timeout = self.plan.connection.timeout;
        let mut next = Moment::NEVER;
        for index in self.links.indices() {
            next = next.min(self.time_out_streams(index, now));
            let Some(link) = self.links.get(index) else {
                continue;
            };
            let Some(flight) = link.in_flight.front() else {
                continue;
            };
            let deadline = flight.begun.after(timeout);
            if deadline <= now {
                self.fail_link(index, FailureKind::TimeOut, None, now)
            } else {
                next = next.min(deadline)
            }
        }
        self.next_deadline = next;
    }

    /// At the end of the run, reports the requests that are under way and the arrivals that never
    /// started.
    pub(super) fn report_unfinished(&mut self, now: Moment) {
        for index in self.links.indices() {
            self.fail_link(index, FailureKind::Unfinished, None, now);
        }
        for visit in self.visits.indices() {
            self.end_visit(visit, false, now);
        }
        while self.supply.is_open() && self.supply.next_open() <= now {
            let intended = self.supply.take_open();
            let request = self.supply.pick();
            let job = Job {
                request,
                visit: None,
                intended,
                permitted: Moment::NEVER,
            };
            self.requests_in_flight += 1;
            self.totals.planned += 1;
            let flight = Flight::new(job, Moment::NEVER, false, 0);
            let at = Broken {
                kind: FailureKind::Unfinished,
                error: None,
                now,
            };
            self.fail(&flight, None, &Facts::default(), at);
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Broken {
    pub kind: FailureKind,
    pub error: Option<i32>,
    pub now: Moment,
}

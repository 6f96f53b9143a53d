//! A request's right to use one member. The lease counts as one running request until it is
//! dropped.

use super::Group;
use crate::connection::{Connecting, Connection};
use crate::member::Member;
use crate::Fault;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

pub struct Lease {
    group: Rc<Group>,
    member: Rc<Member>,
    since: Instant,
    /// Whether this request tests if a failed member is back.
    probe: Cell<bool>,
}

impl Lease {
    pub(crate) fn new(group: Rc<Group>, member: Rc<Member>, now: Instant) -> Lease {
        member.active_requests.set(member.active_requests.get() + 1);
        member.requests.set(member.requests.get() + 1);
        let probe = member.is_failing() && !member.probing.replace(true);
        Lease {
            group,
            member,
            since: now,
            probe: Cell::new(probe),
        }
    }

    pub fn member(&self) -> &Rc<Member> {
        &self.member
    }

    pub fn group(&self) -> &Rc<Group> {
        &self.group
    }

    /// Takes an idle connection of the member, if there is one.
    pub fn take_idle(&self) -> Option<Connection> {
        self.member.take_idle()
    }

    /// Opens a connection, over TLS if configured. `patience` is the time limit of the response.
    pub fn connect(&self, patience: Duration) -> Connecting {
        self.member
            .connections
            .set(self.member.connections.get() + 1);
        let limit = self.member.settings().connect_timeout.min(patience);
        let address = self.member.address.borrow().clone();
        Connecting::new(address, self.member.tls(), limit)
    }

    /// Returns when the lease began.
    pub fn since(&self) -> Instant {
        self.since
    }

    /// Notes that the head of a response has arrived at `now`, so the member works.
    pub fn answered(&self, status: u16, now: Instant) {
        if self.group.member_refused(&self.member, status, now) {
            return;
        }
        self.end_probe();
        self.member.answered(now - self.since);
        self.group.member_recovered(&self.member, now);
    }

    fn end_probe(&self) {
        if self.probe.replace(false) {
            self.member.probing.set(false);
        }
    }

    /// Notes that the member failed.
    pub fn failed(&self, fault: Fault) {
        self.group.member_failed(&self.member, fault);
    }

    /// Keeps the connection for another request from `now` on.
    pub fn keep(&self, connection: Connection, now: Instant) {
        self.member.keep_idle(connection, now);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.member
            .active_requests
            .set(self.member.active_requests.get() - 1);
        self.end_probe();
        self.group.serve_next();
    }
}

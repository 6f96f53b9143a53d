//! A request's right to one member: one of its requests in flight, until it is dropped.

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
    /// It finds out whether a member that failed is back.
    probe: Cell<bool>,
}

impl Lease {
    pub(crate) fn new(group: Rc<Group>, member: Rc<Member>, now: Instant) -> Lease {
        member.in_flight.set(member.in_flight.get() + 1);
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

    /// A connection that was kept.
    pub fn take_idle(&self) -> Option<Connection> {
        self.member.take_idle()
    }

    /// A new connection, with TLS where there is any. `patience`: how long its answer may take.
    pub fn connect(&self, patience: Duration) -> Connecting {
        self.member
            .connections
            .set(self.member.connections.get() + 1);
        let limit = self.member.settings().connect_timeout.min(patience);
        let address = self.member.address.borrow().clone();
        Connecting::new(address, self.member.greeting(), limit)
    }

    /// When it was given.
    pub fn since(&self) -> Instant {
        self.since
    }

    /// The head of an answer came `now`: the member works.
    pub fn answered(&self, now: Instant) {
        self.end_probe();
        self.member.answered(now - self.since);
        self.group.came_back(&self.member, now);
    }

    fn end_probe(&self) {
        if self.probe.replace(false) {
            self.member.probing.set(false);
        }
    }

    /// The member did not do its work.
    pub fn failed(&self, fault: Fault) {
        self.group.went_down(&self.member, fault);
    }

    /// The connection can serve another request from `now` on.
    pub fn keep(&self, connection: Connection, now: Instant) {
        self.member.keep_idle(connection, now);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.member.in_flight.set(self.member.in_flight.get() - 1);
        self.end_probe();
        self.group.hand_on();
    }
}

//! Keeps the back ends that a program names while the server runs
//! (`$r->filename("proxy:http://...")`).
//!
//! The module `upstreams` asks for a group by the name of its back end. The number of groups is
//! bounded: a new group takes the place of a group without requests.

use crate::group::Group;
use crate::member::Member;
use crate::report::Report;
use crate::trust::Trust;
use mehari_config::{LogLevel, ProxyTls, Upstream};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use tokio::time::Instant;

/// The largest number of groups at a time.
const MOST: usize = 256;

#[derive(Default)]
pub struct Chosen {
    groups: RefCell<BTreeMap<String, Rc<Group>>>,
    tls: RefCell<ProxyTls>,
}

impl Chosen {
    /// Takes over the settings of a reload. The next request for a back end then begins a new
    /// group.
    pub fn renew(&self, tls: &ProxyTls) {
        self.tls.replace(tls.clone());
        self.groups.borrow_mut().clear();
    }

    pub fn group(&self, name: &str) -> Option<Rc<Group>> {
        self.groups.borrow().get(name).cloned()
    }

    /// Adds a group. Returns false if all places are taken by groups with requests.
    pub fn add(&self, upstream: Upstream, report: &Report) -> bool {
        let mut groups = self.groups.borrow_mut();
        if groups.len() >= MOST {
            groups.retain(|_, group| is_busy(group));
        }
        if groups.len() >= MOST {
            report(LogLevel::Error, "programs name too many back ends at once");
            return false;
        }
        let members: Vec<Rc<Member>> = upstream
            .members
            .iter()
            .cloned()
            .map(Member::new)
            .map(Rc::new)
            .collect();
        if upstream.members.iter().any(|member| member.secure) {
            match Trust::load(&self.tls.borrow()) {
                Ok(trust) => members
                    .iter()
                    .for_each(|one| one.trust(&Some(trust.clone()))),
                Err(why) => report(LogLevel::Error, &why),
            }
        }
        let name = upstream.name.clone();
        let group = Rc::new(Group::new(upstream, members, report.clone()));
        groups.insert(name, group);
        true
    }

    /// Closes connections that have been idle too long.
    pub fn sweep(&self, now: Instant) {
        for group in self.groups.borrow().values() {
            let members = group.members.borrow();
            members.iter().for_each(|member| member.sweep(now));
        }
    }
}

fn is_busy(group: &Rc<Group>) -> bool {
    let members = group.members.borrow();
    group.queue.length() > 0
        || members
            .iter()
            .any(|member| member.active_requests.get() > 0)
}

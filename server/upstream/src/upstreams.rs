//! All groups of a site. A reload keeps what is known of the back ends that stay.

use crate::group::Group;
use crate::health;
use crate::member::Member;
use crate::status::GroupStatus;
use mehari_config::{LogLevel, Upstream};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// Where what happens to back ends is told.
pub type Report = Rc<dyn Fn(LogLevel, &str)>;

/// How often idle connections are looked at.
const SWEEP: Duration = Duration::from_secs(1);

pub struct Upstreams {
    groups: RefCell<HashMap<String, Rc<Group>>>,
    report: Report,
    swept: Cell<Option<Instant>>,
    checks: RefCell<Vec<health::Checks>>,
}

impl Upstreams {
    pub fn new(upstreams: &[Upstream], report: Report) -> Upstreams {
        let all = Upstreams {
            groups: RefCell::default(),
            report,
            swept: Cell::new(None),
            checks: RefCell::default(),
        };
        all.renew(upstreams);
        all
    }

    /// From now on these. Requests under way end with the member they have; those that wait in a
    /// group that stays go on waiting in it.
    pub fn renew(&self, upstreams: &[Upstream]) {
        let mut groups = self.groups.borrow_mut();
        let mut old = std::mem::take(&mut *groups);
        for settings in upstreams {
            let before = old.remove(&settings.name);
            let group = match before {
                Some(group) => {
                    let members = members(settings, &group.members.borrow());
                    group.members.replace(members);
                    group.settings.replace(Rc::new(settings.clone()));
                    group
                }
                None => {
                    let members = members(settings, &[]);
                    Rc::new(Group::new(settings.clone(), members, self.report.clone()))
                }
            };
            group.hand_on();
            groups.insert(settings.name.clone(), group);
        }
        for group in old.values() {
            group
                .members
                .borrow()
                .iter()
                .for_each(|member| member.close_idle());
        }
    }

    /// Asks members how they are, where the configuration wants that. Must run inside a `LocalSet`.
    pub fn watch(&self) {
        let groups = self.groups.borrow();
        let checks = groups.values().filter_map(health::Checks::begin);
        self.checks.replace(checks.collect());
    }

    pub fn group(&self, name: &str) -> Option<Rc<Group>> {
        self.groups.borrow().get(name).cloned()
    }

    /// Called now and then: closes connections that were idle for too long.
    pub fn sweep(&self) {
        let groups = self.groups.borrow();
        if groups.is_empty() {
            return;
        }
        let now = Instant::now();
        if self.swept.get().is_some_and(|last| now - last < SWEEP) {
            return;
        }
        self.swept.set(Some(now));
        for group in groups.values() {
            group
                .members
                .borrow()
                .iter()
                .for_each(|member| member.sweep(now));
        }
    }

    /// In order of their names.
    pub fn status(&self) -> Vec<GroupStatus> {
        let groups = self.groups.borrow();
        let mut all: Vec<GroupStatus> = groups.values().map(|group| group.status()).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Gives a member no more requests, or gives it some again. The names of the members meant.
    pub fn drain(&self, name: &str, drained: bool) -> Vec<String> {
        let mut meant = Vec::new();
        for group in self.groups.borrow().values() {
            for member in group.members.borrow().iter().filter(|one| one.name == name) {
                member.drained.set(drained);
                meant.push(format!("{} in {}", member.name, group.name));
            }
            group.hand_on();
        }
        meant
    }
}

/// The members of a group, those of them that were there before with what is known of them.
fn members(settings: &Upstream, before: &[Rc<Member>]) -> Vec<Rc<Member>> {
    let member = |back_end: &mehari_config::BackEnd| {
        let name = back_end.name();
        match before.iter().find(|known| known.name == name) {
            Some(known) => {
                known.renew(back_end.clone());
                known.clone()
            }
            None => Rc::new(Member::new(back_end.clone())),
        }
    };
    let stay: Vec<Rc<Member>> = settings.members.iter().map(member).collect();
    let gone = |known: &&Rc<Member>| !stay.iter().any(|one| Rc::ptr_eq(one, known));
    before
        .iter()
        .filter(gone)
        .for_each(|member| member.close_idle());
    stay
}

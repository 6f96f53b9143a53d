//! Holds all groups of a site. A reload keeps the state of back ends that stay.

use crate::chosen::Chosen;
use crate::group::Group;
use crate::health;
use crate::member::Member;
use crate::program::{Answerer, Fleet, Restart};
use crate::report::Report;
use crate::scripts::Scripts;
use crate::status::GroupStatus;
use crate::trust::Trust;
use mehari_config::{BackEndAddress, LogLevel, Program, ProxyTls, Upstream, FCGID};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::rc::Rc;
use tokio::time::Instant;

pub struct Upstreams {
    groups: RefCell<BTreeMap<String, Rc<Group>>>,
    report: Report,
    checks: RefCell<Vec<health::Checks>>,
    fleets: RefCell<Vec<Fleet>>,
    scripts: Scripts,
    chosen: Chosen,
    /// Answers the programs that ask the server.
    answerer: RefCell<Option<Answerer>>,
    /// Programs that have left the configuration, and the members that may still use them.
    retired: RefCell<Vec<(Fleet, Vec<Rc<Member>>)>>,
}

impl Upstreams {
    pub fn new(upstreams: &[Upstream], tls: &ProxyTls, report: Report) -> Upstreams {
        let all = Upstreams {
            groups: RefCell::default(),
            report,
            checks: RefCell::default(),
            fleets: RefCell::default(),
            scripts: Scripts::default(),
            chosen: Chosen::default(),
            answerer: RefCell::default(),
            retired: RefCell::default(),
        };
        all.reconfigure(upstreams, tls);
        all
    }

    /// Gives the questions of programs to this function. Called before the first
    /// [`Upstreams::watch`].
    pub fn answer_by(&self, answerer: Answerer) {
        self.answerer.replace(Some(answerer));
    }

    /// Installs new groups. Running requests finish with their member. If a group stays, its
    /// waiting requests keep waiting.
    pub fn reconfigure(&self, upstreams: &[Upstream], tls: &ProxyTls) {
        let trust = self.trust(upstreams, tls);
        self.chosen.renew(tls);
        let mut groups = self.groups.borrow_mut();
        let mut old = std::mem::take(&mut *groups);
        let (scripts, upstreams): (Vec<_>, Vec<_>) =
            upstreams.iter().partition(|one| one.name == FCGID);
        self.scripts.reconfigure(scripts.first().copied());
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
            group
                .members
                .borrow()
                .iter()
                .for_each(|one| one.trust(&trust));
            group.serve_next();
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

    /// Returns the trusted authorities of `https://` members, or `None` if there are no such
    /// members. Unusable files were reported before, so here these members only stay unreachable.
    fn trust(&self, upstreams: &[Upstream], tls: &ProxyTls) -> Option<Trust> {
        if !is_secure(upstreams) {
            return None;
        }
        let trust = Trust::load(tls);
        trust
            .map_err(|why| (self.report)(LogLevel::Error, &why))
            .ok()
    }

    /// Starts the configured programs and health checks. Must run inside a `LocalSet`, after each
    /// [`Upstreams::reconfigure`].
    pub fn watch(&self) {
        self.start_programs();
        let groups = self.groups.borrow();
        let checks = groups.values().filter_map(health::Checks::begin);
        self.checks.replace(checks.collect());
    }

    /// Starts programs. An unchanged program goes on. A changed program starts beside its old
    /// processes, which end when their requests have finished.
    fn start_programs(&self) {
        let mut old = self.fleets.take();
        let mut fleets = Vec::new();
        for group in self.groups.borrow().values() {
            let Some(program) = group.settings().program.clone() else {
                continue;
            };
            let known = old.iter().position(|fleet| fleet.program == program);
            let fleet = match known {
                Some(index) => old.swap_remove(index),
                None => match self.start_program(&program) {
                    Ok(fleet) => fleet,
                    Err(error) => {
                        let text = format!("{}: cannot be started: {error}", group.name);
                        (self.report)(LogLevel::Error, &text);
                        continue;
                    }
                },
            };
            for member in group.members.borrow().iter() {
                let address = BackEndAddress::Unix(fleet.socket.clone());
                if *member.address.borrow() != address {
                    member.close_idle();
                    member.address.replace(address);
                }
            }
            fleets.push(fleet);
        }
        self.fleets.replace(fleets);
        let members = self.all_members();
        let mut retired = self.retired.borrow_mut();
        retired.extend(old.into_iter().map(|fleet| (fleet, members.clone())));
    }

    fn start_program(&self, program: &Program) -> io::Result<Fleet> {
        let answerer = self.answerer.borrow().clone();
        Fleet::start(program, &self.report, Restart::Always, answerer)
    }

    fn all_members(&self) -> Vec<Rc<Member>> {
        let groups = self.groups.borrow();
        let members = groups.values().map(|group| group.members.borrow().clone());
        members.flatten().collect()
    }

    /// Returns the group of a FastCGI script's processes. Starts the processes if necessary.
    ///
    /// # Errors
    ///
    /// The error of starting the processes.
    pub fn script(&self, file: &Path) -> io::Result<Rc<Group>> {
        self.scripts.group(file, &self.report)
    }

    pub fn group(&self, name: &str) -> Option<Rc<Group>> {
        let configured = self.groups.borrow().get(name).cloned();
        configured.or_else(|| self.chosen.group(name))
    }

    /// Adds a back end that a program has named. A configured back end of this name stays as it is.
    /// Returns false if there are too many back ends.
    pub fn choose(&self, upstream: Upstream) -> bool {
        self.group(&upstream.name).is_some() || self.chosen.add(upstream, &self.report)
    }

    /// Closes connections that the back end has closed, or that have been idle too long. Called a
    /// few times per second.
    pub fn sweep(&self) {
        let now = Instant::now();
        self.scripts.sweep(now);
        self.chosen.sweep(now);
        let groups = self.groups.borrow();
        if groups.is_empty() {
            return;
        }
        let busy = |member: &Rc<Member>| member.active_requests.get() > 0;
        let mut retired = self.retired.borrow_mut();
        retired.retain(|(_, members)| members.iter().any(busy));
        for group in groups.values() {
            group
                .members
                .borrow()
                .iter()
                .for_each(|member| member.sweep(now));
        }
    }

    /// Returns the state of all groups in the order of their names.
    pub fn status(&self) -> Vec<GroupStatus> {
        let groups = self.groups.borrow();
        let mut all: Vec<GroupStatus> = groups.values().map(|group| group.status()).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Stops or allows new requests to a member. Returns the names of the members concerned.
    pub fn drain(&self, name: &str, drained: bool) -> Vec<String> {
        let mut meant = Vec::new();
        for group in self.groups.borrow().values() {
            for member in group.members.borrow().iter().filter(|one| one.name == name) {
                member.drained.set(drained);
                meant.push(format!("{} in {}", member.name, group.name));
            }
            group.serve_next();
        }
        meant
    }
}

/// Returns whether any back end uses TLS.
pub fn is_secure(upstreams: &[Upstream]) -> bool {
    let mut members = upstreams.iter().flat_map(|upstream| &upstream.members);
    members.any(|member| member.secure)
}

/// Makes the members of a group. Members that existed before keep their state.
fn members(settings: &Upstream, before: &[Rc<Member>]) -> Vec<Rc<Member>> {
    let member = |back_end: &mehari_config::BackEnd| {
        let name = back_end.name();
        match before.iter().find(|known| known.name == name) {
            Some(known) => {
                known.reconfigure(back_end.clone());
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

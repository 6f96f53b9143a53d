//! Implements a balancer: its members, the choice among them, and the waiting requests.

mod lease;
mod queue;

pub use lease::Lease;
pub use queue::Seeking;

use crate::choose::{self, Dice};
use crate::hash::hash;
use crate::member::Member;
use crate::report::Report;
use crate::Fault;
use mehari_config::{LogLevel, Method, Standing, Upstream};
use queue::Queue;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// A member of a group of this size or smaller is chosen without an allocation.
const FEW: usize = 16;

pub struct Group {
    pub name: String,
    pub(crate) settings: RefCell<Rc<Upstream>>,
    pub(crate) members: RefCell<Vec<Rc<Member>>>,
    pub(crate) queue: Queue,
    dice: Dice,
    /// The time of the last response of any member.
    pub(crate) answered: Cell<Option<Instant>>,
    pub(crate) report: Report,
}

/// What a request wants of its member.
#[derive(Default, Clone)]
pub struct Wish {
    /// The key for `carp`, see [`Group::wants_key`].
    pub key: u64,
    pub route: Option<Route>,
    /// Members that have already failed the request.
    pub tried: Vec<Rc<Member>>,
}

/// The route that a request's session names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    pub name: String,
    /// The name of the cookie or parameter that names the session.
    pub session: String,
}

impl Wish {
    /// Returns the key of a host and a path.
    pub fn key_of(host: &[u8], path: &[u8]) -> u64 {
        hash(host) ^ hash(path).rotate_left(1)
    }

    /// Returns whether the request has no wishes, so that only the group's rules decide.
    pub(crate) fn is_plain(&self) -> bool {
        self.route.is_none() && self.tried.is_empty()
    }
}

impl Group {
    pub(crate) fn new(settings: Upstream, members: Vec<Rc<Member>>, report: Report) -> Group {
        let seed = std::process::id() as u64 ^ hash(settings.name.as_bytes());
        Group {
            name: settings.name.clone(),
            settings: RefCell::new(Rc::new(settings)),
            members: RefCell::new(members),
            queue: Queue::default(),
            dice: Dice::new(seed),
            answered: Cell::default(),
            report,
        }
    }

    pub fn settings(&self) -> Rc<Upstream> {
        self.settings.borrow().clone()
    }

    /// Returns how often a request without an answer may be sent again: once to each other member.
    /// A request that makes back ends crash can therefore crash each member only once.
    pub fn resend_limit(&self) -> usize {
        let others = self.members.borrow().len().saturating_sub(1);
        others.clamp(1, self.settings.borrow().attempts.max(1))
    }

    /// Returns the number of members.
    pub fn size(&self) -> usize {
        self.members.borrow().len()
    }

    /// Returns whether [`Wish::key`] matters for the choice.
    pub fn wants_key(&self) -> bool {
        self.settings.borrow().method == Method::Carp
    }

    /// Finds a member for a request, at once or later.
    pub fn seek(self: &Rc<Group>, wish: Wish) -> Seeking {
        Seeking::new(self.clone(), wish)
    }

    /// Takes a member now. Returns `None` if no member is free. The caller decides whether waiting
    /// requests come first.
    pub(crate) fn take(self: &Rc<Group>, wish: &Wish, now: Instant) -> Option<Lease> {
        let member = self.pick(wish, now)?;
        Some(Lease::new(self.clone(), member, now))
    }

    fn pick(&self, wish: &Wish, now: Instant) -> Option<Rc<Member>> {
        let members = self.members.borrow();
        let settings = self.settings.borrow();
        let may = |member: &Member| member.is_up(now) && member.has_room();
        if let Some(route) = &wish.route {
            let may = |member: &Rc<Member>| may(member) && !has(&wish.tried, member);
            let found = of_session(&members, &route.name, &may, 1);
            if found.is_some() || (settings.no_failover && is_of(&members, route)) {
                return found;
            }
        }
        let last_set = members.iter().map(|one| one.settings().set).max();
        let standings = [Standing::Enabled, Standing::HotSpare];
        let sets = 0..=last_set.unwrap_or_default();
        let choices = sets.flat_map(|set| standings.map(|standing| (set, standing)));
        for (set, standing) in choices {
            let fits = |member: &&Rc<Member>| {
                member.standing() == standing
                    && member.settings().set == set
                    && may(member)
                    && !has(&wish.tried, member)
            };
            let mut fit = members.iter().filter(fits);
            let Some(first) = fit.next() else { continue };
            // A group of usual size needs no allocation.
            let mut few = [first; FEW];
            let mut count = 1;
            for (place, member) in few[1..].iter_mut().zip(&mut fit) {
                *place = member;
                count += 1;
            }
            let rest: Vec<&Rc<Member>> = fit.collect();
            let dice = &self.dice;
            let method = settings.method;
            return Some(if rest.is_empty() {
                choose::choose(method, &few[..count], wish.key, now, dice)
            } else {
                let all = [&few[..], &rest].concat();
                choose::choose(method, &all, wish.key, now, dice)
            });
        }
        None
    }

    /// Checks whether a request without a member may wait for one.
    ///
    /// # Errors
    ///
    /// Why it may not wait.
    pub fn may_wait(&self, wish: &Wish, now: Instant) -> Result<(), Fault> {
        let settings = self.settings.borrow();
        let members = self.members.borrow();
        if let Some(route) = wish.route.as_ref().filter(|_| settings.no_failover) {
            let may = |member: &Rc<Member>| member.is_up(now);
            if is_of(&members, route) && of_session(&members, &route.name, &may, 1).is_none() {
                return Err(Fault::NoBackEnd);
            }
        }
        let mut usable = members
            .iter()
            .filter(|one| one.standing() != Standing::Disabled);
        // No request waits if all members have been down for long, or since the start.
        let recently = (self.answered.get()).is_some_and(|at| now - at < settings.queue_timeout);
        let alive = usable.any(|one| recently || one.is_up(now) || one.active_requests.get() > 0);
        if !alive {
            Err(Fault::NoBackEnd)
        } else if self.queue.length() >= settings.queue {
            Err(Fault::QueueFull)
        } else {
            Ok(())
        }
    }

    pub(crate) fn queue_timeout(&self) -> Duration {
        self.settings.borrow().queue_timeout
    }

    /// Gives a free place, or a member that has come back, to the oldest suitable request.
    pub(crate) fn serve_next(self: &Rc<Group>) {
        if self.queue.length() > 0 {
            let now = Instant::now();
            self.queue.serve(|wish| self.take(wish, now));
        }
    }

    /// Reports a member that failed. The waiting requests are served when the member is tried
    /// again.
    pub(crate) fn member_failed(self: &Rc<Group>, member: &Rc<Member>, fault: Fault) {
        let Some(pause) = member.note_failure() else {
            return;
        };
        let text = format!(
            "{}: {}: {fault}; tried again in {pause:?}",
            self.name, member.name
        );
        (self.report)(LogLevel::Error, &text);
        let group = Rc::downgrade(self);
        tokio::task::spawn_local(async move {
            tokio::time::sleep(pause + Duration::from_millis(1)).await;
            if let Some(group) = group.upgrade() {
                group.serve_next();
            }
        });
    }

    /// Avoids a member for the time of `retry=` if its response has a status of `failonstatus=`.
    /// The last member that works is not avoided, because then nobody would get a response.
    /// Returns whether the member is avoided.
    pub(crate) fn member_refused(&self, member: &Rc<Member>, status: u16, now: Instant) -> bool {
        if !self.settings.borrow().fail_on_status.contains(&status) {
            return false;
        }
        let is_other = |one: &&Rc<Member>| {
            let may = matches!(one.standing(), Standing::Enabled | Standing::HotSpare);
            may && !Rc::ptr_eq(one, member) && !one.is_failing() && one.is_up(now)
        };
        if self.members.borrow().iter().find(is_other).is_none() {
            return false;
        }
        if let Some(pause) = member.note_refusal() {
            let name = &member.name;
            let text = format!(
                "{}: {name}: status {status}; tried again in {pause:?}",
                self.name
            );
            (self.report)(LogLevel::Error, &text);
        }
        true
    }

    pub(crate) fn member_recovered(self: &Rc<Group>, member: &Rc<Member>, now: Instant) {
        self.answered.set(Some(now));
        if member.note_success() {
            let text = format!("{}: {}: answers again", self.name, member.name);
            (self.report)(LogLevel::Notice, &text);
            self.serve_next();
        }
    }
}

/// Returns the member of a session that `may` serve its request. As in Apache, the members with the
/// route come before the spare members, and a member can name the route of another one. `depth`
/// limits the number of such redirects.
fn of_session(
    members: &[Rc<Member>],
    route: &str,
    may: &dyn Fn(&Rc<Member>) -> bool,
    depth: usize,
) -> Option<Rc<Member>> {
    let named = |is_spare: bool| {
        members.iter().filter(move |one| {
            let is_of_route = one.settings().route.as_deref() == Some(route);
            is_of_route && (one.standing() == Standing::HotSpare) == is_spare
        })
    };
    named(false).chain(named(true)).find_map(|member| {
        if member.standing() != Standing::Disabled && may(member) {
            return Some(member.clone());
        }
        let settings = member.settings();
        let other = settings
            .redirect
            .as_deref()
            .filter(|_| depth < members.len())?;
        of_session(members, other, may, depth + 1)
    })
}

/// Whether a member has the route.
fn is_of(members: &[Rc<Member>], route: &Route) -> bool {
    let is = |one: &Rc<Member>| one.settings().route.as_ref() == Some(&route.name);
    members.iter().any(is)
}

fn has(tried: &[Rc<Member>], member: &Rc<Member>) -> bool {
    tried.iter().any(|one| Rc::ptr_eq(one, member))
}

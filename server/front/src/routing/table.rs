//! Keeps routes, by host and path as sent. The route of a file is kept while the file is unchanged,
//! and other routes are kept for a second.

use super::{Route, RouteOutcome};
use crate::content::FileTarget;
use foldhash::fast::RandomState;
use mehari_http::problem::Problem;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

/// How long a new file, a new index or a new variant may go unnoticed without a watch.
const LIFE: Duration = Duration::from_secs(1);
/// The most routes of a host, the most routes of all hosts, and the most bytes of kept files.
/// Beyond a limit, the table is cleared.
const ROUTES: usize = 4096;
const ALL_ROUTES: usize = 16 * ROUTES;
const FILE_BYTES: usize = 64 * 1024 * 1024;
/// Longer paths are not remembered.
const PATH: usize = 1024;

struct CachedRoute {
    route: Rc<Route>,
    found: Cell<Duration>,
}

impl CachedRoute {
    /// Whether the route may be used unchanged.
    fn holds(&self, now: Duration) -> bool {
        let is_young = now < self.found.get() + LIFE;
        match self
            .target()
            .and_then(|target| Some((target, target.holds()?)))
        {
            Some((target, holds)) => holds && (is_young || self.is_confirmed(target, now)),
            None => is_young,
        }
    }

    fn target(&self) -> Option<&FileTarget> {
        match &self.route.outcome {
            RouteOutcome::File(target) => Some(target),
            _ => None,
        }
    }

    fn is_invalid(&self) -> bool {
        self.target()
            .is_some_and(|target| target.holds() == Some(false))
    }

    /// Checks the watched file itself, because not every change causes an event.
    fn is_confirmed(&self, target: &FileTarget, now: Duration) -> bool {
        let is_unchanged = target.is_unchanged();
        if is_unchanged {
            self.found.set(now);
        }
        is_unchanged
    }
}

/// The kept routes of one host. Clients choose the paths, so only existing paths are kept, their
/// number is limited, and each process hashes with another key.
type Paths = HashMap<Box<[u8]>, CachedRoute, RandomState>;

/// The kept routes: one table per host, by the number of the host.
#[derive(Default)]
pub struct RouteTable {
    hosts: RefCell<Vec<Paths>>,
}

impl RouteTable {
    /// Returns the kept route of a path if it is still valid. Otherwise, calls `find` with the
    /// earlier route and keeps the result. `now` is the time of the front's clock.
    pub fn route(
        &self,
        host: u32,
        path: &[u8],
        now: Duration,
        find: impl FnOnce(Option<&Route>) -> Result<Route, Problem>,
    ) -> Result<Rc<Route>, Problem> {
        if let Some(route) = self.known(host, path, now) {
            return Ok(route);
        }
        let before = self.before(host, path);
        let route = Rc::new(find(before.as_deref())?);
        if let (Some(RouteOutcome::File(old)), RouteOutcome::File(new)) = (
            before.as_deref().map(|route| &route.outcome),
            &route.outcome,
        ) {
            new.inherit(old);
        }
        let waits = |target: &FileTarget| target.waits_for_watch();
        if !matches!(&route.outcome, RouteOutcome::File(target) if waits(target)) {
            self.keep(path, &route, now);
        }
        Ok(route)
    }

    /// Returns the route of a path, if it is still valid.
    pub fn known(&self, host: u32, path: &[u8], now: Duration) -> Option<Rc<Route>> {
        let hosts = self.hosts.borrow();
        let known = hosts.get(host as usize)?.get(path)?;
        known.holds(now).then(|| known.route.clone())
    }

    fn before(&self, host: u32, path: &[u8]) -> Option<Rc<Route>> {
        let hosts = self.hosts.borrow();
        let known = hosts.get(host as usize)?.get(path)?;
        Some(known.route.clone())
    }

    /// Keeps a route. A refusal is not kept, because invented paths must not displace existing
    /// paths.
    fn keep(&self, path: &[u8], route: &Rc<Route>, now: Duration) {
        let mut hosts = self.hosts.borrow_mut();
        let host = route.host as usize;
        if hosts.len() <= host {
            hosts.resize_with(host + 1, Paths::default);
        }
        let known = &mut hosts[host];
        if matches!(route.outcome, RouteOutcome::Refused(_)) || path.len() > PATH {
            known.remove(path);
            return;
        }
        if known.len() >= ROUTES {
            known.clear();
        }
        let entry = CachedRoute {
            route: route.clone(),
            found: Cell::new(now),
        };
        known.insert(path.into(), entry);
    }

    pub fn forget(&self, host: u32, path: &[u8]) {
        if let Some(paths) = self.hosts.borrow_mut().get_mut(host as usize) {
            paths.remove(path);
        }
    }

    pub fn clear(&self) {
        self.hosts.borrow_mut().clear();
    }

    /// Drops invalid routes, closes unused files, and limits the file contents of all hosts. The
    /// front's sweep calls this function.
    pub fn sweep(&self, something_fell: bool) {
        if something_fell {
            for paths in self.hosts.borrow_mut().iter_mut() {
                paths.retain(|_, known| !known.is_invalid());
            }
        }
        let hosts = self.hosts.borrow();
        let targets = || {
            hosts
                .iter()
                .flat_map(Paths::values)
                .filter_map(CachedRoute::target)
        };
        let bytes: usize = targets().map(FileTarget::weight).sum();
        targets().for_each(|target| target.rest(bytes > FILE_BYTES));
        let left: usize = if bytes > FILE_BYTES {
            targets().map(FileTarget::weight).sum()
        } else {
            bytes
        };
        let routes: usize = hosts.iter().map(Paths::len).sum();
        drop(hosts);
        if left > FILE_BYTES || routes > ALL_ROUTES {
            self.clear();
        }
    }
}

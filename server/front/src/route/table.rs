//! The routes of the last second, by host and path as sent.

use super::{Outcome, Route};
use crate::problem::Problem;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

/// How long a new file, index or neighbour may go unnoticed.
const LIFE: Duration = Duration::from_secs(1);
/// Beyond any of these a table starts again from nothing.
const ROUTES: usize = 4096;
const ALL_ROUTES: usize = 16 * ROUTES;
const FILE_BYTES: usize = 64 * 1024 * 1024;
/// A longer path is not worth remembering.
const PATH: usize = 1024;

struct Known {
    route: Rc<Route>,
    found: Duration,
}

type Paths = HashMap<Box<[u8]>, Known>;

/// A table for each host, by its number.
#[derive(Default)]
pub struct RouteTable {
    hosts: RefCell<Vec<Paths>>,
}

impl RouteTable {
    /// The route of a path; `now` is the front's tick.
    pub fn route(
        &self,
        host: u32,
        path: &[u8],
        now: Duration,
        find: impl FnOnce() -> Result<Route, Problem>,
    ) -> Result<Rc<Route>, Problem> {
        let hosts = self.hosts.borrow();
        let before = match hosts.get(host as usize).and_then(|paths| paths.get(path)) {
            Some(known) if now < known.found + LIFE => return Ok(known.route.clone()),
            known => known.map(|known| known.route.clone()),
        };
        drop(hosts);
        let route = Rc::new(find()?);
        if let (Some(Outcome::File(old)), Outcome::File(new)) = (
            before.as_deref().map(|route| &route.outcome),
            &route.outcome,
        ) {
            new.inherit(old);
        }
        self.keep(path, &route, now);
        Ok(route)
    }

    /// A refusal is never kept: a path made up by a client shall not push out one that exists.
    fn keep(&self, path: &[u8], route: &Rc<Route>, now: Duration) {
        let mut hosts = self.hosts.borrow_mut();
        let host = route.host as usize;
        if hosts.len() <= host {
            hosts.resize_with(host + 1, Paths::default);
        }
        let known = &mut hosts[host];
        if matches!(route.outcome, Outcome::Refused(_)) || path.len() > PATH {
            known.remove(path);
            return;
        }
        if known.len() >= ROUTES {
            known.clear();
        }
        let entry = Known {
            route: route.clone(),
            found: now,
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

    /// Called by the sweep: keeps file contents within their bound, over all hosts.
    pub fn trim(&self) {
        let weight = |known: &Known| match &known.route.outcome {
            Outcome::File(target) => target.weight(),
            _ => 0,
        };
        let hosts = self.hosts.borrow();
        let bytes: usize = hosts.iter().flat_map(Paths::values).map(weight).sum();
        let routes: usize = hosts.iter().map(Paths::len).sum();
        drop(hosts);
        if bytes > FILE_BYTES || routes > ALL_ROUTES {
            self.clear();
        }
    }
}

//! The routes of the last second, by path as sent.

use super::{find, Outcome, Route};
use crate::problem::Problem;
use mehari_config::Site;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

/// How long a new file, index or neighbour may go unnoticed.
const LIFE: Duration = Duration::from_secs(1);
/// Beyond either the table starts again from nothing.
const ROUTES: usize = 4096;
const FILE_BYTES: usize = 64 * 1024 * 1024;
/// A longer path is not worth remembering.
const PATH: usize = 1024;

struct Known {
    route: Rc<Route>,
    found: Duration,
}

#[derive(Default)]
pub struct RouteTable {
    known: RefCell<HashMap<Box<[u8]>, Known>>,
}

impl RouteTable {
    /// The route of a path; `now` is the front's tick.
    pub fn route(&self, site: &Site, path: &[u8], now: Duration) -> Result<Rc<Route>, Problem> {
        let before = match self.known.borrow().get(path) {
            Some(known) if now < known.found + LIFE => return Ok(known.route.clone()),
            known => known.map(|known| known.route.clone()),
        };
        let route = Rc::new(find(site, path)?);
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
        let mut known = self.known.borrow_mut();
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

    pub fn forget(&self, path: &[u8]) {
        self.known.borrow_mut().remove(path);
    }

    pub fn clear(&self) {
        self.known.borrow_mut().clear();
    }

    /// Called by the sweep: keeps file contents within their bound.
    pub fn trim(&self) {
        let weight = |known: &Known| match &known.route.outcome {
            Outcome::File(target) => target.weight(),
            _ => 0,
        };
        let bytes: usize = self.known.borrow().values().map(weight).sum();
        if bytes > FILE_BYTES {
            self.clear();
        }
    }
}

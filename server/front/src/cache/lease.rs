//! A request that asks the program for a page others may want too: until it is dropped, they wait.

use super::fills::Fill;
use super::{key, Cache};
use crate::route::Route;
use mehari_cache::Page;
use std::rc::Rc;

pub struct Lease {
    pub(super) cache: Rc<Cache>,
    pub(super) key: Rc<[u8]>,
    pub(super) route: Rc<Route>,
    pub(super) has_query: bool,
    pub(super) kind: Kind,
    /// Its number, where others wait for it.
    pub(super) number: Option<u64>,
    pub(super) fill: Fill,
    /// The request's fields before they were changed for the program, and whether they have been.
    pub(super) changed: Option<Fields>,
}

/// As `Notes::fields`.
pub(super) type Fields = Option<Vec<(Vec<u8>, Vec<u8>)>>;

pub(super) enum Kind {
    /// The response may be kept; the page it takes the place of.
    Fill(Option<Rc<Page>>),
    /// The request may change what is kept.
    Unsafe,
    /// It has, or it has not.
    Settled,
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.cache.give_back(&self.key, number);
        }
        // Nobody has heard what the program did.
        if matches!(self.kind, Kind::Unsafe) {
            self.cache.invalidate(key::base(&self.key));
        }
    }
}

impl Lease {
    /// Somebody lost patience and has asked since, or what is behind the page was changed.
    pub(super) fn is_overtaken(&self) -> bool {
        let asks = |number| self.cache.is_asking(&self.key, number);
        self.fill.is_void() || self.number.is_some_and(|number| !asks(number))
    }

    /// The program failed, and who waits for its answer need wait no more.
    pub(super) fn fail(&self, status: u16) {
        if self.number.is_some() {
            self.cache.fail(&self.key, status);
        }
    }
}

//! The lock of a request that makes a page: other requests wait until it is dropped.

use super::fills::Fill;
use super::{key, Cache};
use crate::routing::Route;
use mehari_cache::{field, Arrival, Page};
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// How long no request waits for a page whose last response could not be kept.
pub const UNKEPT: Duration = Duration::from_secs(10);

pub struct FillLock {
    pub cache: Rc<Cache>,
    pub key: Rc<[u8]>,
    pub route: Rc<Route>,
    pub has_query: bool,
    /// When the program was asked.
    pub asked: Instant,
    pub kind: Kind,
    /// The maker's number, if other requests can wait for it.
    pub number: Option<u64>,
    pub fill: Fill,
    /// The request's fields before they were changed for the program, and whether they were
    /// changed.
    pub changed: Option<Fields>,
}

/// As `RuleState::fields`.
pub type Fields = Option<Vec<(Vec<u8>, Vec<u8>)>>;

pub enum Kind {
    /// The response may be kept, in place of this page.
    Fill(Option<Rc<Page>>),
    /// The request may change the resource (an unsafe method).
    Unsafe,
    /// The result of an unsafe method is known.
    Settled,
}

impl Drop for FillLock {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.cache.give_back(&self.key, number);
        }
        // The result is unknown, so the page may be outdated.
        if matches!(self.kind, Kind::Unsafe) {
            self.cache.invalidate(key::base(&self.key));
        }
    }
}

impl FillLock {
    /// The arrival of its response, now. `said`: the header lines. What gives neither its date nor
    /// its age is dated at its arrival: then it has spent no time on its way.
    pub fn arrival(&self, said: &[u8]) -> Arrival {
        let is_dated = field(said, "date").is_some() || field(said, "age").is_some();
        Arrival {
            at: SystemTime::now(),
            delay: if is_dated {
                self.asked.elapsed()
            } else {
                Duration::ZERO
            },
        }
    }

    /// Whether another request has replaced this maker, or the resource was changed.
    pub fn is_overtaken(&self) -> bool {
        let asks = |number| self.cache.is_asking(&self.key, number);
        self.fill.is_void() || self.number.is_some_and(|number| !asks(number))
    }

    /// The program failed, so waiting requests need not wait longer.
    pub fn fail(&self, status: u16) {
        if self.number.is_some() {
            self.cache.fail(&self.key, status);
        }
    }
}

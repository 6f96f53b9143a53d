//! The lock of a request that makes a page. Other requests for the same variant of the page wait
//! until the lock is dropped.

use super::voidable_fills::Fill;
use super::{key, Cache};
use crate::routing::Route;
use mehari_cache::{field, Arrival, Page, Varied};
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// After a response that could not be stored, no request waits for the page during this time.
pub const UNKEPT: Duration = Duration::from_secs(10);

pub struct FillLock {
    pub cache: Rc<Cache>,
    pub key: Rc<[u8]>,
    pub route: Rc<Route>,
    pub has_query: bool,
    /// The time at which the program was asked.
    pub asked: Instant,
    pub kind: FillPurpose,
    /// The maker's number, if other requests can wait for it.
    pub number: Option<u64>,
    pub fill: Fill,
    /// The request's own fields, if the cache has changed the fields that the program gets.
    pub changed: Option<Fields>,
}

/// The same type as `RuleState::fields`.
pub type Fields = Option<Vec<(Vec<u8>, Vec<u8>)>>;

pub enum FillPurpose {
    /// The response may be stored. The response replaces this page, if there is one.
    Fill(Option<Rc<Page>>),
    /// The request may change the resource (an unsafe method).
    Unsafe,
    /// The request had an unsafe method, and its result is known.
    Settled,
}

impl Drop for FillLock {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.cache.makers.give_back(&self.key, number);
        }
        // The result of the unsafe method is unknown, so the stored pages may be outdated.
        if matches!(self.kind, FillPurpose::Unsafe) {
            self.cache.invalidate(key::base(&self.key));
        }
    }
}

impl FillLock {
    /// Returns the arrival of a response that arrives now. `said`: the response's header lines. A
    /// response without Date and Age counts as made at its arrival, so its delay is zero.
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

    /// Stores the page, unless a later request has made the page, or a request has changed the
    /// resource.
    pub fn store(&self, page: Rc<Page>) {
        let makers = &self.cache.makers;
        let is_outdated = |number| makers.is_outdated(&self.key, number);
        if self.fill.is_void() || self.number.is_some_and(is_outdated) {
            return;
        }
        if let Some(number) = self.number {
            makers.outdate_earlier(&self.key, number);
        }
        self.cache.put(&self.key, page);
    }

    /// Notes the variant of the page that is arriving. Requests for other variants stop waiting.
    pub fn note_variant(&self, variant: &Varied) {
        if let Some(number) = self.number {
            self.cache.makers.note_variant(&self.key, number, variant);
        }
    }

    /// Notes that the program failed, so that the waiting requests stop waiting.
    pub fn fail(&self, status: u16) {
        if let Some(number) = self.number {
            self.cache.makers.fail(&self.key, number, status);
        }
    }
}

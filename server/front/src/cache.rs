//! The response cache of a front. It makes keys, uses the levels of the store (memory, a folder,
//! Redis), and lets requests wait for a page that another request makes.
//!
//! `pipeline::cache` searches the cache before a program runs, and stores the program's responses.
//! Only places with `CacheEnable` use the cache. `mehari_cache` implements RFC 9111's rules and the
//! store in memory.

pub mod claims;
pub mod coded;
mod disk;
pub mod fill_lock;
pub mod key;
mod redis;
mod voidable_fills;

pub use fill_lock::FillLock;
pub use key::Purge;

use crate::request::Request;
use coded::CodedPages;
use disk::Disk;
use mehari_cache::{Page, Store};
use mehari_config::CacheStore;
use mehari_http::header_block::HeaderBlock;
use mehari_observe::Journal;
use redis::Redis;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;
use tokio::time::Instant;
use voidable_fills::Fills;

#[derive(Default)]
pub struct Cache {
    pub store: Store,
    pub asked: RefCell<HashMap<Rc<[u8]>, Asking>>,
    pub fills: Fills,
    /// How many requests have become the maker of a page.
    askers: Cell<u64>,
    pub coded: CodedPages,
    disk: Disk,
    redis: Redis,
    journal: RefCell<Option<Rc<dyn Journal>>>,
    pub counts: Counts,
}

/// A page that a program is making.
pub struct Asking {
    /// The number of the request that makes the page.
    number: u64,
    pub since: Instant,
    pub waiting: Vec<Waker>,
    /// The status with which the program failed. The waiting requests read it. 0: the program has
    /// not failed.
    pub failure: Rc<Cell<u16>>,
}

/// The numbers of requests by the cache's result.
#[derive(Debug, Default)]
pub struct Counts {
    pub hits: Cell<u64>,
    pub misses: Cell<u64>,
    pub stale: Cell<u64>,
    pub revalidated: Cell<u64>,
}

/// The figures of the response cache in `mehari status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheStats {
    pub keys: usize,
    pub bytes: u64,
    pub hits: u64,
    pub misses: u64,
    pub stale: u64,
    pub revalidated: u64,
}

/// The cache's result for X-Cache and the access log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CacheStatus {
    /// The cache was bypassed.
    #[default]
    None,
    Hit,
    Miss,
    Revalidate,
    Stale,
}

impl CacheStatus {
    /// Returns whether the response is a stored page. The header lines of such a page contain Date.
    pub fn is_kept(self) -> bool {
        matches!(
            self,
            CacheStatus::Hit | CacheStatus::Revalidate | CacheStatus::Stale
        )
    }

    pub fn name(self) -> &'static str {
        match self {
            CacheStatus::None => "",
            CacheStatus::Hit => "HIT",
            CacheStatus::Miss => "MISS",
            CacheStatus::Revalidate => "REVALIDATE",
            CacheStatus::Stale => "STALE",
        }
    }
}

impl Cache {
    /// Sets the journal to which errors are written.
    pub fn set_journal(&self, journal: Rc<dyn Journal>) {
        self.journal.replace(Some(journal));
    }

    pub fn configure(&self, settings: &CacheStore) {
        self.disk.configure(settings);
        self.redis.configure(&settings.redis);
        // The remaining third is for compressed pages.
        self.store.bound(settings.memory / 3 * 2);
        self.coded.bound(settings.memory / 3);
    }

    /// Removes pages and returns their number.
    pub fn purge(self: &Rc<Cache>, purge: &Purge) -> usize {
        self.sweep(purge.clone());
        self.fills.void(|key| purge.means(key));
        let (kept, filed) = (
            self.store.remove_if(|key| purge.means(key)),
            self.disk.remove_if(|key| purge.means(key)),
        );
        kept.max(filed)
    }

    /// Loads the pages of a key from the folder or Redis into memory. `None`: there are no pages.
    pub fn load_pages(
        self: &Rc<Cache>,
        key: &Rc<[u8]>,
    ) -> Option<Pin<Box<dyn Future<Output = ()>>>> {
        self.load(key).or_else(|| self.fetch(key))
    }

    /// Stores a page. The page replaces an earlier page for the same requests.
    pub fn put(self: &Rc<Cache>, key: &Rc<[u8]>, page: Rc<Page>) {
        self.file(key, &page);
        self.send(key, &page);
        self.store.put(key, page);
    }

    pub fn remove(self: &Rc<Cache>, key: &[u8]) {
        self.store.remove(key);
        self.disk.remove(key);
        self.forget(key);
    }

    /// Removes all earlier pages of a resource that a request has changed, for every client.
    pub fn invalidate(self: &Rc<Cache>, base: &[u8]) {
        self.fills.void(|key| key::base(key) == base);
        self.remove(base);
        for key in self.store.keys_of(base) {
            self.remove(&key);
        }
        for key in self.disk.keys_of(base) {
            self.remove(&key);
        }
    }

    /// Removes the pages that a program's response names for removal.
    pub fn purge_said(self: &Rc<Cache>, request: &Request<'_>, block: &[u8], lines: &HeaderBlock) {
        let said = lines.purge.iter().map(|span| &block[span.clone()]);
        for purge in said.filter_map(|text| Purge::by(request, text)) {
            self.purge(&purge);
        }
    }

    pub fn stats(&self) -> CacheStats {
        CacheStats {
            keys: self.store.count(),
            bytes: self.store.weight(),
            hits: self.counts.hits.get(),
            misses: self.counts.misses.get(),
            stale: self.counts.stale.get(),
            revalidated: self.counts.revalidated.get(),
        }
    }

    pub fn count(&self, part: CacheStatus) {
        let count = match part {
            CacheStatus::None => return,
            CacheStatus::Hit => &self.counts.hits,
            CacheStatus::Miss => &self.counts.misses,
            CacheStatus::Revalidate => &self.counts.revalidated,
            CacheStatus::Stale => &self.counts.stale,
        };
        count.set(count.get() + 1);
    }

    /// Registers a request as the maker of a page. `None`: another request is making the page and
    /// has not exceeded `limit`. A maker that exceeds `limit` is replaced.
    pub fn take(&self, key: &Rc<[u8]>, limit: Duration) -> Option<u64> {
        let mut asked = self.asked.borrow_mut();
        let before = asked.get_mut(key);
        if before
            .as_ref()
            .is_some_and(|asking| asking.since.elapsed() < limit)
        {
            return None;
        }
        let number = self.askers.get() + 1;
        self.askers.set(number);
        let before =
            before.map(|asking| (std::mem::take(&mut asking.waiting), asking.failure.clone()));
        let (waiting, failure) = before.unwrap_or_default();
        let asking = Asking {
            number,
            since: Instant::now(),
            waiting,
            failure,
        };
        asked.insert(key.clone(), asking);
        Some(number)
    }

    /// Returns whether the request with this number is still the maker of the page.
    fn is_asking(&self, key: &[u8], number: u64) -> bool {
        let asked = self.asked.borrow();
        asked.get(key).is_some_and(|asking| asking.number == number)
    }

    fn give_back(&self, key: &[u8], number: u64) {
        if self.is_asking(key, number) {
            let asking = self.asked.borrow_mut().remove(key);
            let waiting = asking.into_iter().flat_map(|asking| asking.waiting);
            waiting.for_each(Waker::wake);
        }
    }

    /// Notes that the program has failed for the maker of a page. All requests that wait for the
    /// page get the same status.
    fn fail(&self, key: &[u8], status: u16) {
        if let Some(asking) = self.asked.borrow_mut().get_mut(key) {
            std::mem::take(&mut asking.failure).set(status);
            asking.waiting.drain(..).for_each(Waker::wake);
        }
    }
}

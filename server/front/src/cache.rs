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
mod makers;
mod redis;
mod voidable_fills;

pub use fill_lock::FillLock;
pub use key::Purge;

use crate::request::Request;
use coded::CodedPages;
use disk::Disk;
use makers::Makers;
use mehari_cache::{Page, Store};
use mehari_config::CacheStore;
use mehari_http::header_block::HeaderBlock;
use mehari_observe::Journal;
use redis::Redis;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use voidable_fills::Fills;

#[derive(Default)]
pub struct Cache {
    pub store: Store,
    pub makers: Rc<Makers>,
    pub fills: Fills,
    pub coded: CodedPages,
    disk: Disk,
    redis: Redis,
    journal: RefCell<Option<Rc<dyn Journal>>>,
    pub counts: Counts,
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
}

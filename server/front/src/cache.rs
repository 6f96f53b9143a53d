//! The response cache of a front: asked before a program is run, filled with what programs say.
//!
//! The HTTP versions call [`step`] for a request of a place with `CacheEnable`, [`receive`] with the head of the
//! program's response, and [`rescue`] where there is none. `mehari_cache` has the rules and the store; here are who
//! waits for whom, and how a page becomes an answer. A place without a cache never comes here.

mod answer;
mod ask;
mod captured;
mod claims;
mod coded;
mod disk;
mod fills;
mod key;
mod lease;
mod receive;
mod redis;
mod refresh;

pub use ask::{step, Question, Step};
pub use captured::Captured;

pub use key::Purge;
pub use lease::Lease;
pub use receive::{receive, rescue};

use crate::lines::Lines;
use crate::log::Journal;
use crate::request::Request;
use coded::CodedPages;
use disk::Disk;
use fills::Fills;
use mehari_cache::{Page, Store};
use mehari_config::CacheStore;
use redis::Redis;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;
use tokio::time::Instant;

#[derive(Default)]
pub struct Cache {
    pub store: Store,
    asked: RefCell<HashMap<Rc<[u8]>, Asking>>,
    fills: Fills,
    /// So many have asked for something.
    askers: Cell<u64>,
    coded: CodedPages,
    disk: Disk,
    redis: Redis,
    journal: RefCell<Option<Rc<dyn Journal>>>,
    pub counts: Counts,
}

/// A page that is being asked for.
struct Asking {
    /// By whom.
    number: u64,
    since: Instant,
    waiting: Vec<Waker>,
    /// What those who wait are told: the status their program failed with, 0 until it does.
    failure: Rc<Cell<u16>>,
}

/// What became of requests for pages.
#[derive(Debug, Default)]
pub struct Counts {
    pub hits: Cell<u64>,
    pub misses: Cell<u64>,
    pub stale: Cell<u64>,
    pub revalidated: Cell<u64>,
}

/// What `mehari status` shows of the response cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheStats {
    pub keys: usize,
    pub bytes: u64,
    pub hits: u64,
    pub misses: u64,
    pub stale: u64,
    pub revalidated: u64,
}

/// The cache's part in an answer, as X-Cache and the access log tell it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Part {
    /// It was not asked.
    #[default]
    None,
    Hit,
    Miss,
    Revalidate,
    Stale,
}

impl Part {
    /// What is kept answers: its lines say when it was made.
    pub fn is_kept(self) -> bool {
        matches!(self, Part::Hit | Part::Revalidate | Part::Stale)
    }

    pub fn name(self) -> &'static str {
        match self {
            Part::None => "",
            Part::Hit => "HIT",
            Part::Miss => "MISS",
            Part::Revalidate => "REVALIDATE",
            Part::Stale => "STALE",
        }
    }
}

impl Cache {
    /// Who is told of what does not work.
    pub fn tell(&self, journal: Rc<dyn Journal>) {
        self.journal.replace(Some(journal));
    }

    pub fn configure(&self, settings: &CacheStore) {
        self.disk.configure(settings);
        self.redis.configure(&settings.redis);
        // A third of it for what is compressed.
        self.store.bound(settings.memory / 3 * 2);
        self.coded.bound(settings.memory / 3);
    }

    /// Forgets what is meant; how many pages that were.
    pub fn purge(self: &Rc<Cache>, purge: &Purge) -> usize {
        self.sweep(purge.clone());
        self.fills.void(|key| purge.means(key));
        let (kept, filed) = (
            self.store.remove_if(|key| purge.means(key)),
            self.disk.remove_if(|key| purge.means(key)),
        );
        kept.max(filed)
    }

    /// Reads what is known of a key elsewhere into memory. `None`: nothing is.
    fn look_behind(self: &Rc<Cache>, key: &Rc<[u8]>) -> Option<Pin<Box<dyn Future<Output = ()>>>> {
        self.load(key).or_else(|| self.fetch(key))
    }

    /// Puts a page in the place of the one that answered the same requests.
    fn put(self: &Rc<Cache>, key: &Rc<[u8]>, page: Rc<Page>) {
        self.file(key, &page);
        self.send(key, &page);
        self.store.put(key, page);
    }

    fn remove(self: &Rc<Cache>, key: &[u8]) {
        self.store.remove(key);
        self.disk.remove(key);
        self.forget(key);
    }

    /// A request has changed what is behind a target: nothing that was made before it is kept, whoever asked for it.
    fn invalidate(self: &Rc<Cache>, base: &[u8]) {
        self.fills.void(|key| key::base(key) == base);
        self.remove(base);
        for key in self.store.keys_of(base) {
            self.remove(&key);
        }
        for key in self.disk.keys_of(base) {
            self.remove(&key);
        }
    }

    /// What a program's response says is to be forgotten.
    pub fn purge_said(self: &Rc<Cache>, request: &Request<'_>, block: &[u8], lines: &Lines) {
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

    fn count(&self, part: Part) {
        let count = match part {
            Part::None => return,
            Part::Hit => &self.counts.hits,
            Part::Miss => &self.counts.misses,
            Part::Revalidate => &self.counts.revalidated,
            Part::Stale => &self.counts.stale,
        };
        count.set(count.get() + 1);
    }

    /// A number for who asks for it now, until it gives the key back. `None`: somebody does already, and has not for so long. Who
    /// takes longer is no more waited for.
    fn take(&self, key: &Rc<[u8]>, limit: Duration) -> Option<u64> {
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

    /// Whether nobody has overtaken who was given this number.
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

    /// The program has failed one of those who asked for a key: so it has all who wait for it by now.
    fn fail(&self, key: &[u8], status: u16) {
        if let Some(asking) = self.asked.borrow_mut().get_mut(key) {
            std::mem::take(&mut asking.failure).set(status);
            asking.waiting.drain(..).for_each(Waker::wake);
        }
    }
}

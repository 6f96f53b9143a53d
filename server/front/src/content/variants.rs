//! Keeps compressed files (variants) in memory up to a limit. The least recently used variants are
//! dropped first. If a folder is configured, it keeps the variants too.
//!
//! A thread reads and compresses a file. Other requests for the same variant wait for it.

use crate::content::resource::{Identity, Resource};
use mehari_config::{Coding, VariantStore};
use mehari_net::blocking_pool::BlockingPool;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::future::{poll_fn, Future};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::{Poll, Waker};

mod folder;
mod making;

use making::Making;

/// The bytes that count for each variant in addition to its content.
const OVERHEAD: u64 = 512;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    path: Vec<u8>,
    identity: Identity,
    coding: Coding,
    level: u32,
}

impl Key {
    pub fn new(resource: &Resource, coding: Coding, level: u32) -> Key {
        Key {
            path: resource.path().to_vec(),
            identity: resource.identity(),
            coding,
            level,
        }
    }

    /// Returns the name of the variant's file. The hash is SipHash with a fixed key, so every
    /// process computes the same name.
    fn file_name(&self) -> String {
        let mut hash = DefaultHasher::new();
        self.hash(&mut hash);
        let first = hash.finish();
        self.hash(&mut hash);
        format!("{first:016x}{:016x}{}", hash.finish(), self.coding.suffix())
    }
}

#[derive(Debug)]
pub struct Variant {
    /// The header lines of the variant, and the bytes of a small variant.
    pub resource: Rc<Resource>,
    pub file: Option<LargeVariant>,
    pub length: u64,
    /// The time of the last use, measured in lookups.
    used: Cell<u64>,
}

/// A variant too large for memory.
#[derive(Debug)]
pub enum LargeVariant {
    /// The bytes are in a memory file.
    InMemory(Arc<File>),
    /// The bytes are in a file of the site's folder.
    OnDisk(Arc<File>),
}

/// The recent variants of one file. The file's resource keeps them, so no search is needed.
#[derive(Debug, Default)]
pub struct Beside(RefCell<Vec<(Coding, u32, Weak<Variant>)>>);

impl Beside {
    pub fn note(&self, coding: Coding, level: u32, variant: &Rc<Variant>) {
        let mut known = self.0.borrow_mut();
        known.retain(|(known, ..)| *known != coding);
        known.push((coding, level, Rc::downgrade(variant)));
    }

    fn find(&self, coding: Coding, level: u32) -> Option<Rc<Variant>> {
        let known = self.0.borrow();
        let mut known = known.iter();
        let found = known.find(|(known, made, _)| *known == coding && *made == level);
        found.and_then(|(.., variant)| variant.upgrade())
    }
}

pub enum VariantLookup {
    Variant(Rc<Variant>),
    /// The file has no variant: compression does not make it smaller, or it cannot be read.
    Useless,
    /// The variant must be made or is being made.
    Nothing,
}

enum VariantState {
    Making(Vec<Waker>),
    Ready(Rc<Variant>),
    Useless,
}

struct VariantEntry {
    state: VariantState,
    /// The time of insertion or of the last search, measured in lookups.
    seen: u64,
}

impl VariantEntry {
    fn weight(&self) -> u64 {
        match &self.state {
            VariantState::Ready(variant) => variant.length + OVERHEAD,
            _ => OVERHEAD,
        }
    }

    fn used(&self) -> u64 {
        match &self.state {
            VariantState::Ready(variant) => self.seen.max(variant.used.get()),
            _ => self.seen,
        }
    }
}

/// The most concurrent compressions. Each compression needs a core and memory of the file's size.
const AT_ONCE: usize = 4;

struct Threads(BlockingPool);

impl Default for Threads {
    fn default() -> Threads {
        Threads(BlockingPool::new(AT_ONCE))
    }
}

#[derive(Default)]
pub struct Variants(Rc<Inner>);

#[derive(Default)]
struct Inner {
    settings: RefCell<VariantStore>,
    kept: RefCell<HashMap<Key, VariantEntry>>,
    weight: Cell<u64>,
    threads: Threads,
    /// The number of lookups. It serves as a clock.
    looks: Cell<u64>,
}

impl Variants {
    pub fn configure(&self, settings: &VariantStore) {
        self.0.settings.replace(settings.clone());
        self.0.shrink();
    }

    /// Returns a recent variant of the file, if it is still kept.
    pub fn known(&self, resource: &Resource, coding: Coding, level: u32) -> Option<Rc<Variant>> {
        let variant = resource.variants.find(coding, level)?;
        variant.used.set(self.0.next_look());
        Some(variant)
    }

    pub fn find(&self, key: &Key) -> VariantLookup {
        let mut kept = self.0.kept.borrow_mut();
        let Some(known) = kept.get_mut(key) else {
            return VariantLookup::Nothing;
        };
        known.seen = self.0.next_look();
        match &known.state {
            VariantState::Making(_) => VariantLookup::Nothing,
            VariantState::Ready(variant) => VariantLookup::Variant(variant.clone()),
            VariantState::Useless => VariantLookup::Useless,
        }
    }

    /// Makes the variant, unless another request is making it. `None`: compression is useless.
    pub fn make(
        &self,
        key: Key,
        resource: Rc<Resource>,
    ) -> impl Future<Output = Option<Rc<Variant>>> {
        let begun = self.0.kept.borrow().contains_key(&key);
        if !begun {
            self.0.begin(&key, resource);
        }
        let inner = self.0.clone();
        poll_fn(move |cx| match inner.kept.borrow_mut().get_mut(&key) {
            Some(VariantEntry {
                state: VariantState::Making(waiting),
                ..
            }) => {
                waiting.push(cx.waker().clone());
                Poll::Pending
            }
            Some(VariantEntry {
                state: VariantState::Ready(variant),
                ..
            }) => Poll::Ready(Some(variant.clone())),
            _ => Poll::Ready(None),
        })
    }
}

impl Inner {
    fn next_look(&self) -> u64 {
        self.looks.set(self.looks.get() + 1);
        self.looks.get()
    }

    fn begin(self: &Rc<Inner>, key: &Key, resource: Rc<Resource>) {
        self.put(key.clone(), VariantState::Making(Vec::new()));
        let making = Making {
            key: key.clone(),
            plain: PathBuf::from(OsStr::from_bytes(resource.path())),
            settings: self.settings.borrow().clone(),
        };
        let (inner, key) = (self.clone(), key.clone());
        tokio::task::spawn_local(async move {
            let made = inner.threads.0.run(move || making.make());
            let made = made.await.ok().flatten();
            let state = match made.and_then(|made| made.variant(&resource, key.coding)) {
                Some(variant) => VariantState::Ready(Rc::new(variant)),
                None => VariantState::Useless,
            };
            let before = inner.put(key, state);
            if let Some(VariantState::Making(waiting)) = before {
                waiting.into_iter().for_each(Waker::wake);
            }
            // The waiting request takes the variant before the limit is applied.
            tokio::task::yield_now().await;
            inner.shrink();
        });
    }

    /// Sets the state of a variant and returns the previous one.
    fn put(&self, key: Key, state: VariantState) -> Option<VariantState> {
        let kept = VariantEntry {
            state,
            seen: self.next_look(),
        };
        let weight = kept.weight();
        let before = self.kept.borrow_mut().insert(key, kept);
        let old = before.as_ref().map_or(0, VariantEntry::weight);
        self.weight.set(self.weight.get() + weight - old);
        before.map(|kept| kept.state)
    }

    /// If the limit is exceeded, drops the least recently used variants until nine tenths of the
    /// limit are used. The free tenth makes this work rare.
    fn shrink(&self) {
        let most = self.settings.borrow().memory;
        if self.weight.get() <= most {
            return;
        }
        let mut kept = self.kept.borrow_mut();
        let done = kept
            .iter()
            .filter(|(_, kept)| !matches!(kept.state, VariantState::Making(_)));
        let mut by_use: Vec<(u64, Key)> =
            done.map(|(key, kept)| (kept.used(), key.clone())).collect();
        by_use.sort_unstable_by_key(|(used, _)| *used);
        for (_, key) in by_use {
            if self.weight.get() <= most / 10 * 9 {
                break;
            }
            if let Some(kept) = kept.remove(&key) {
                self.weight.set(self.weight.get() - kept.weight());
            }
        }
    }
}

#[cfg(test)]
mod tests;

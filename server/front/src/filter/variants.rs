//! Compressed files: in memory up to a bound, the one used longest ago first to go, and in a folder if the site has one.
//!
//! A thread reads and compresses; all who ask meanwhile wait for the one that is being made.

use crate::handler::file::resource::{Identity, Resource};
use mehari_config::{Coding, VariantStore};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::future::{poll_fn, Future};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use tokio::sync::Semaphore;

mod folder;
mod making;

use making::Making;

/// What is counted for a variant beside its bytes.
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

    /// The name of its file. The hash is the same in each process (SipHash without a key).
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
    /// Its header lines, and its bytes if they are few.
    pub resource: Rc<Resource>,
    pub file: Option<File>,
    pub length: u64,
}

pub enum Found {
    Variant(Rc<Variant>),
    /// The file gets no smaller, or cannot be read.
    Useless,
    /// It is to be made, or being made.
    Nothing,
}

enum State {
    Making(Vec<Waker>),
    Ready(Rc<Variant>),
    Useless,
}

struct Kept {
    state: State,
    used: u64,
}

impl Kept {
    fn weight(&self) -> u64 {
        match &self.state {
            State::Ready(variant) => variant.length + OVERHEAD,
            _ => OVERHEAD,
        }
    }
}

/// Files are compressed so many at a time: it takes a processor, and memory of the size of the file.
const AT_ONCE: usize = 4;

struct Turns(Arc<Semaphore>);

impl Default for Turns {
    fn default() -> Turns {
        Turns(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

#[derive(Default)]
pub struct Variants(Rc<Inner>);

#[derive(Default)]
struct Inner {
    settings: RefCell<VariantStore>,
    kept: RefCell<HashMap<Key, Kept>>,
    weight: Cell<u64>,
    turns: Turns,
    /// Counts looks: who was looked at last is used last.
    looks: Cell<u64>,
}

impl Variants {
    pub fn configure(&self, settings: &VariantStore) {
        self.0.settings.replace(settings.clone());
        self.0.shrink();
    }

    pub fn find(&self, key: &Key) -> Found {
        let mut kept = self.0.kept.borrow_mut();
        let Some(known) = kept.get_mut(key) else {
            return Found::Nothing;
        };
        known.used = self.0.next_look();
        match &known.state {
            State::Making(_) => Found::Nothing,
            State::Ready(variant) => Found::Variant(variant.clone()),
            State::Useless => Found::Useless,
        }
    }

    /// Has the variant made, unless somebody does already. `None`: it is of no use.
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
            Some(Kept {
                state: State::Making(waiting),
                ..
            }) => {
                waiting.push(cx.waker().clone());
                Poll::Pending
            }
            Some(Kept {
                state: State::Ready(variant),
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
        self.put(key.clone(), State::Making(Vec::new()));
        let making = Making {
            key: key.clone(),
            plain: PathBuf::from(OsStr::from_bytes(resource.path())),
            settings: self.settings.borrow().clone(),
        };
        let (inner, key) = (self.clone(), key.clone());
        let turn = self.turns.0.clone().acquire_owned();
        tokio::task::spawn_local(async move {
            let turn = turn.await;
            let thread = tokio::task::spawn_blocking(move || {
                let made = making.make();
                drop(turn);
                made
            });
            let made = thread.await.ok().and_then(Result::ok).flatten();
            let state = match made.and_then(|made| made.variant(&resource, key.coding)) {
                Some(variant) => State::Ready(Rc::new(variant)),
                None => State::Useless,
            };
            let before = inner.put(key, state);
            if let Some(State::Making(waiting)) = before {
                waiting.into_iter().for_each(Waker::wake);
            }
            // Who waits takes it first.
            tokio::task::yield_now().await;
            inner.shrink();
        });
    }

    /// Returns what was there before.
    fn put(&self, key: Key, state: State) -> Option<State> {
        let kept = Kept {
            state,
            used: self.next_look(),
        };
        let weight = kept.weight();
        let before = self.kept.borrow_mut().insert(key, kept);
        let old = before.as_ref().map_or(0, Kept::weight);
        self.weight.set(self.weight.get() + weight - old);
        before.map(|kept| kept.state)
    }

    /// Lets go what was used longest ago until the rest fits: down to nine tenths, so that this is rare.
    fn shrink(&self) {
        let most = self.settings.borrow().memory;
        if self.weight.get() <= most {
            return;
        }
        let mut kept = self.kept.borrow_mut();
        let done = kept
            .iter()
            .filter(|(_, kept)| !matches!(kept.state, State::Making(_)));
        let mut by_use: Vec<(u64, Key)> =
            done.map(|(key, kept)| (kept.used, key.clone())).collect();
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

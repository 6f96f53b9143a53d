//! The folder of pages (`CacheRoot`), the level of the cache after the memory.
//!
//! The event loop has an index of the folder and never reads the folder itself. Threads scan, read,
//! write and remove files. After a failure the log gets one line, and programs make the missing
//! pages again.

use super::Cache;
use mehari_cache::{Folder, FolderEntry, Index, Page};
use mehari_config::{CacheStore, LogLevel};
use mehari_observe::Origin;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;

/// The longest time that the first requests wait for the scan of the folder.
const SCAN: Duration = Duration::from_secs(2);

#[derive(Default)]
pub struct Disk {
    folder: RefCell<Option<Folder>>,
    most: Cell<u64>,
    index: RefCell<Index>,
    /// Whether the scan has begun.
    scanning: Cell<bool>,
    scanned: Cell<bool>,
    has_scanned: Notify,
    complained: Cell<bool>,
}

impl Disk {
    pub fn configure(&self, settings: &CacheStore) {
        self.most.set(settings.disk);
        let folder = settings.folder.as_deref().map(Folder::new);
        if *self.folder.borrow() != folder {
            self.folder.replace(folder);
            self.index.replace(Index::default());
            self.scanning.set(false);
            self.scanned.set(false);
        }
    }

    fn drop_files(&self, names: Vec<String>) {
        let folder = self.folder.borrow().clone();
        if let Some(folder) = folder.filter(|_| !names.is_empty()) {
            drop(tokio::task::spawn_blocking(move || folder.remove(&names)));
        }
    }

    pub fn remove(&self, key: &[u8]) -> usize {
        let names = self.index.borrow_mut().remove(key);
        let count = names.len();
        self.drop_files(names);
        count
    }

    pub fn keys_of(&self, base: &[u8]) -> Vec<Vec<u8>> {
        self.index.borrow().keys_of(base)
    }

    pub fn remove_if(&self, is_meant: impl Fn(&[u8]) -> bool) -> usize {
        let names = self.index.borrow_mut().remove_if(is_meant);
        let count = names.len();
        self.drop_files(names);
        count
    }

    fn note(&self, key: &[u8], filed: FolderEntry) {
        self.index.borrow_mut().put(key, filed);
        let gone = self.index.borrow_mut().shrink(self.most.get());
        self.drop_files(gone);
    }
}

impl Cache {
    /// Loads the folder's pages of a key into memory. `None`: the folder has none.
    pub fn load(self: &Rc<Cache>, key: &Rc<[u8]>) -> Option<Pin<Box<dyn Future<Output = ()>>>> {
        let folder = self.disk.folder.borrow().clone()?;
        if !self.disk.scanning.replace(true) {
            tokio::task::spawn_local(self.clone().scan(folder.clone()));
        }
        let has_none = || self.disk.index.borrow_mut().names(key).is_empty();
        if self.disk.scanned.get() && has_none() {
            return None;
        }
        let (cache, key) = (self.clone(), key.clone());
        Some(Box::pin(async move {
            if !cache.disk.scanned.get() {
                // If the scan takes longer, the disk is slow, and programs respond meanwhile.
                let scanned = cache.disk.has_scanned.notified();
                let _ = tokio::time::timeout(SCAN, scanned).await;
            }
            let fill = cache.fills.begin(&key);
            let names = cache.disk.index.borrow_mut().names(&key);
            let numbers = names.iter().map(|_| cache.store.next_number());
            let numbers: Vec<u64> = numbers.collect();
            let wanted = key.clone().to_vec();
            let read = tokio::task::spawn_blocking(move || {
                let each = names.iter().zip(numbers);
                let pages = each.filter_map(|(name, number)| folder.read(name, &wanted, number));
                pages.collect::<Vec<_>>()
            });
            let now = SystemTime::now();
            let pages = read.await.unwrap_or_default();
            let good = pages.into_iter().filter(|page| !page.is_useless(now));
            let good: Vec<_> = good.map(Rc::new).collect();
            if fill.is_void() {
                return;
            }
            if good.is_empty() {
                cache.disk.remove(&key);
            }
            good.into_iter()
                .for_each(|page| cache.store.put(&key, page));
        }))
    }

    async fn scan(self: Rc<Cache>, folder: Folder) {
        let known = folder.clone();
        let scanned = tokio::task::spawn_blocking(move || known.scan()).await;
        if *self.disk.folder.borrow() == Some(folder) {
            for (key, filed) in scanned.unwrap_or_default() {
                self.disk.note(&key, filed);
            }
            self.disk.scanned.set(true);
            self.disk.has_scanned.notify_waiters();
        }
    }

    /// Writes a page to the folder, if one is configured.
    pub fn file(self: &Rc<Cache>, key: &Rc<[u8]>, page: &Rc<Page>) {
        let Some(folder) = self.disk.folder.borrow().clone() else {
            return;
        };
        let (cache, key, page) = (self.clone(), key.clone(), (**page).clone());
        tokio::task::spawn_local(async move {
            let bytes = key.to_vec();
            let write = tokio::task::spawn_blocking(move || folder.write(&bytes, &page));
            match write.await {
                Ok(Ok(filed)) => cache.disk.note(&key, filed),
                Ok(Err(error)) if !cache.disk.complained.replace(true) => {
                    let text =
                        format!("CacheRoot: a page cannot be stored: {error} (reported once)");
                    if let Some(journal) = &*cache.journal.borrow() {
                        let origin = Origin::default();
                        journal.error(0, LogLevel::Warn, origin, &text);
                    }
                }
                _ => {}
            }
        });
    }
}

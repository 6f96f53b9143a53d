//! Watches files by inotify: the files that a kept route depends on, and whether they have changed.
//!
//! The search for a route examines files through a [`DependencyRecorder`], and the route keeps the
//! resulting [`CacheValidity`]. An unchanged file costs no disk access. A changed file is examined
//! again by the next request. If there is no validity, because no watches are left or others can
//! change the file system, every request examines the files. The event loop reads waiting events
//! before any later request.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

mod dependency_recorder;
mod dir_watch;
mod watch_warmer;

#[cfg(test)]
mod tests;

pub use dependency_recorder::DependencyRecorder;
pub use watch_warmer::WatchWarmer;

use dir_watch::DirWatch;
use mehari_config::LogLevel;
use mehari_observe::{Journal, Origin};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::rc::{Rc, Weak};
use std::sync::Arc;

/// The largest number of watched folders. At the limit all watches are forgotten.
const FOLDERS: usize = 16 * 1024;
/// The largest number of names that routes depend on, over all folders. At the limit all watches
/// are forgotten.
const PLACES: usize = 512 * 1024;
/// Above this number of names, the names without a dependent route are forgotten.
const TIDY: usize = 64 * 1024;

/// Whether the dependencies of one route, or of the path to one folder, are unchanged.
#[derive(Debug, Default)]
pub struct CacheValidity {
    invalid: Cell<bool>,
    /// The validities of the paths to the folders in which the names lie.
    ways: Vec<Rc<CacheValidity>>,
}

impl CacheValidity {
    #[inline]
    pub fn holds(&self) -> bool {
        !self.invalid.get() && self.ways.iter().all(|way| !way.invalid.get())
    }
}

/// The routes and paths that depend on a watched folder or file.
#[derive(Default)]
struct Watched {
    /// Dependents of the folder itself: its place, its existence, its mode.
    own: Vec<Weak<CacheValidity>>,
    /// Dependents of a name in the folder, whether or not the name exists.
    names: HashMap<Box<[u8]>, Vec<Weak<CacheValidity>>>,
}

pub struct FileWatcher {
    journal: Rc<dyn Journal>,
    inotify: Option<OwnedFd>,
    /// Sets the first watches, on another thread.
    pub warmer: Arc<WatchWarmer>,
    /// Folders that the warmer has visited, including those that cannot be watched.
    warmed: RefCell<HashSet<Box<[u8]>>>,
    /// A duplicate of the inotify descriptor, for the task that waits for events.
    for_task: RefCell<Option<OwnedFd>>,
    watched: RefCell<HashMap<i32, Watched>>,
    ways: RefCell<HashMap<Box<[u8]>, Rc<DirWatch>>>,
    dependents: Cell<usize>,
    /// The number of dependents at which unused ones are forgotten.
    tidied_at: Cell<usize>,
    /// Whether anything was invalidated since the last call of [`FileWatcher::take_invalidated`].
    any_invalidated: Cell<bool>,
    /// Whether the log already says that no watches are left.
    warned: Cell<bool>,
}

impl FileWatcher {
    pub fn new(journal: Rc<dyn Journal>) -> FileWatcher {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        let again = inotify
            .as_ref()
            .and_then(|inotify| inotify.try_clone().ok());
        FileWatcher {
            journal,
            for_task: RefCell::new(again),
            warmer: Arc::new(WatchWarmer::default()),
            warmed: RefCell::default(),
            inotify,
            watched: RefCell::default(),
            ways: RefCell::default(),
            dependents: Cell::new(0),
            tidied_at: Cell::new(TIDY),
            any_invalidated: Cell::new(false),
            warned: Cell::new(false),
        }
    }

    /// Returns the descriptor on which the task waits for events. `None` after the first call.
    pub fn descriptor(&self) -> Option<OwnedFd> {
        self.for_task.take()
    }

    /// Returns whether files of this folder have been watched before.
    pub fn has_watched(&self, folder: &[u8]) -> bool {
        self.ways.borrow().contains_key(folder)
    }

    /// Returns whether the warmer has not visited the folder of this file yet.
    pub fn is_new(&self, file: &[u8]) -> bool {
        !self.warmed.borrow().contains(folder_of(file))
    }

    pub fn note_warmed(&self, file: &[u8]) {
        let mut warmed = self.warmed.borrow_mut();
        if warmed.len() >= FOLDERS {
            warmed.clear();
        }
        warmed.insert(folder_of(file).into());
    }

    /// Reads the waiting events and invalidates their dependents. Makes no system call while
    /// nothing is watched.
    pub fn read_events(&self) {
        let Some(inotify) = self.inotify.as_ref() else {
            return;
        };
        if self.watched.borrow().is_empty() {
            return;
        }
        let mut buffer = [MaybeUninit::<u8>::uninit(); 8192];
        let mut reader = inotify::Reader::new(inotify, &mut buffer);
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(|name| name.to_bytes());
            self.take_event(event.wd(), event.events(), name);
        }
    }

    fn take_event(&self, number: i32, events: ReadFlags, name: Option<&[u8]>) {
        if events.contains(ReadFlags::QUEUE_OVERFLOW) {
            // The system has dropped events, so no validity can be trusted.
            return self.clear();
        }
        let gone =
            ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT | ReadFlags::IGNORED;
        let mut all = self.watched.borrow_mut();
        let Some(watched) = all.get_mut(&number) else {
            return;
        };
        if events.intersects(gone) {
            self.invalidate(watched.names.drain().flat_map(|(_, who)| who));
        }
        match name {
            Some(name) => self.invalidate(watched.names.remove(name).into_iter().flatten()),
            None => self.invalidate(watched.own.drain(..)),
        }
        if events.contains(ReadFlags::IGNORED) {
            all.remove(&number);
        }
    }

    fn invalidate(&self, who: impl Iterator<Item = Weak<CacheValidity>>) {
        for validity in who {
            self.dependents.set(self.dependents.get().saturating_sub(1));
            if let Some(validity) = validity.upgrade() {
                validity.invalid.set(true);
                self.any_invalidated.set(true);
            }
        }
    }

    /// Returns whether anything was invalidated since the last call.
    pub fn take_invalidated(&self) -> bool {
        self.any_invalidated.take()
    }

    /// Invalidates everything and removes all watches.
    pub fn clear(&self) {
        let all = self.watched.take();
        self.ways.take();
        self.warmed.take();
        self.dependents.set(0);
        for (number, watched) in all {
            let names = watched.names.into_values().flatten();
            self.invalidate(names.chain(watched.own));
            if let Some(inotify) = &self.inotify {
                // The system may have removed the watch already.
                let _ = inotify::remove_watch(inotify, number);
            }
        }
    }

    /// Adds a watch and returns its number.
    ///
    /// # Errors
    ///
    /// No watches are left, or the path may not be read.
    fn watch(&self, path: &CString, flags: WatchFlags) -> rustix::io::Result<i32> {
        let Some(inotify) = &self.inotify else {
            return Err(rustix::io::Errno::NOSYS);
        };
        let number = inotify::add_watch(inotify, path.as_c_str(), flags | WatchFlags::MASK_ADD)
            .inspect_err(|error| self.warn_of_no_watches(*error))?;
        self.watched.borrow_mut().entry(number).or_default();
        Ok(number)
    }

    fn warn_of_no_watches(&self, error: rustix::io::Errno) {
        if error == rustix::io::Errno::NOSPC && !self.warned.replace(true) {
            let text = "there are no more inotify watches (sysctl fs.inotify.max_user_watches): \
                        files of some folders are looked at again for each request";
            self.journal
                .error(0, LogLevel::Warn, Origin::default(), text);
        }
    }

    /// Notes that `validity` depends on a name of a watched folder or, without a name, on the
    /// folder itself.
    fn note(&self, number: i32, name: Option<&[u8]>, validity: &Rc<CacheValidity>) {
        self.dependents.set(self.dependents.get() + 1);
        let mut all = self.watched.borrow_mut();
        let watched = all.entry(number).or_default();
        let who = match name {
            None => &mut watched.own,
            Some(name) => watched.names.entry(name.into()).or_default(),
        };
        if who.len() == who.capacity() {
            let before = who.len();
            who.retain(|validity| validity.strong_count() > 0);
            let forgotten = before - who.len();
            self.dependents
                .set(self.dependents.get().saturating_sub(forgotten));
        }
        who.push(Rc::downgrade(validity));
    }

    fn make_room(&self) {
        if self.dependents.get() >= self.tidied_at.get() {
            self.forget_unused_names();
            self.tidied_at.set(TIDY.max(2 * self.dependents.get()));
        }
        if self.ways.borrow().len() >= FOLDERS || self.dependents.get() >= PLACES {
            self.clear();
        }
    }
}

impl FileWatcher {
    /// Forgets the names without a dependent route, because there may be many more files than
    /// routes.
    fn forget_unused_names(&self) {
        let mut left = 0;
        for watched in self.watched.borrow_mut().values_mut() {
            watched.names.retain(|_, who| {
                who.retain(|validity| validity.strong_count() > 0);
                left += who.len();
                !who.is_empty()
            });
            watched.own.retain(|validity| validity.strong_count() > 0);
            left += watched.own.len();
        }
        self.dependents.set(left);
    }
}

fn folder_of(file: &[u8]) -> &[u8] {
    let slash = memchr::memrchr(b'/', file).unwrap_or(0);
    &file[..slash]
}

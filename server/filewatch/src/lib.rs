//! The part of the file system that kept routes stand on, watched by inotify: a file that does not change costs
//! no look at the disk, and one that does is looked at again by the next request.
//!
//! `locate` surveys what it looks at ([`Survey`]); the route it found keeps the [`Footing`]. Where nothing can be
//! watched (no watches left, a file system that others change too) there is no footing, and the route is looked at
//! again each time. Events are heard by a task of the loop, before any request that came after them.

mod scout;
mod survey;
mod way;

#[cfg(test)]
mod tests;

pub use scout::Scout;
pub use survey::Survey;

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
use way::Way;

/// Folders kept at most; beyond it all starts anew.
const FOLDERS: usize = 16 * 1024;
/// Names that routes stand on, over all folders; beyond it all starts anew.
const PLACES: usize = 512 * 1024;
/// Beyond so many, those that no route stands on any more are forgotten.
const TIDY: usize = 64 * 1024;

/// What one route, or the way to one folder, stands on: it holds until something of that changes.
#[derive(Debug, Default)]
pub struct Footing {
    fallen: Cell<bool>,
    /// To the folders of its names.
    ways: Vec<Rc<Footing>>,
}

impl Footing {
    pub fn holds(&self) -> bool {
        !self.fallen.get() && self.ways.iter().all(|way| !way.fallen.get())
    }
}

/// Who stands on a watched folder (or file).
#[derive(Default)]
struct Watched {
    /// On itself: where it is, that it is there, what its mode is.
    own: Vec<Weak<Footing>>,
    /// On one of its names, whether or not it exists.
    names: HashMap<Box<[u8]>, Vec<Weak<Footing>>>,
}

pub struct Ground {
    journal: Rc<dyn Journal>,
    inotify: Option<OwnedFd>,
    /// For threads.
    pub scout: Arc<Scout>,
    /// Where it has been, be it that nothing can be watched there.
    scouted: RefCell<HashSet<Box<[u8]>>>,
    /// The same, for the task that waits.
    for_task: RefCell<Option<OwnedFd>>,
    watched: RefCell<HashMap<i32, Watched>>,
    ways: RefCell<HashMap<Box<[u8]>, Rc<Way>>>,
    places: Cell<usize>,
    /// How many of them there may be before they are tidied.
    tidied_at: Cell<usize>,
    /// Since somebody last asked.
    fell: Cell<bool>,
    /// The log has been told that there are no watches left.
    complained: Cell<bool>,
}

impl Ground {
    pub fn new(journal: Rc<dyn Journal>) -> Ground {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        let again = inotify
            .as_ref()
            .and_then(|inotify| inotify.try_clone().ok());
        Ground {
            journal,
            for_task: RefCell::new(again),
            scout: Arc::new(Scout::new()),
            scouted: RefCell::default(),
            inotify,
            watched: RefCell::default(),
            ways: RefCell::default(),
            places: Cell::new(0),
            tidied_at: Cell::new(TIDY),
            fell: Cell::new(false),
            complained: Cell::new(false),
        }
    }

    /// For the task that waits for changes.
    pub fn descriptor(&self) -> Option<OwnedFd> {
        self.for_task.take()
    }

    /// Whether files of this folder have been watched before.
    pub fn knows(&self, folder: &[u8]) -> bool {
        self.ways.borrow().contains_key(folder)
    }

    /// Whether a thread has yet to go ahead to the folder of this file.
    pub fn is_new(&self, file: &[u8]) -> bool {
        !self.scouted.borrow().contains(folder_of(file))
    }

    pub fn note_scouted(&self, file: &[u8]) {
        let mut scouted = self.scouted.borrow_mut();
        if scouted.len() >= FOLDERS {
            scouted.clear();
        }
        scouted.insert(folder_of(file).into());
    }

    /// Lets fall what has changed on the disk. Without a watched folder it costs nothing.
    pub fn hear(&self) {
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
            self.heard(event.wd(), event.events(), name);
        }
    }

    fn heard(&self, number: i32, events: ReadFlags, name: Option<&[u8]>) {
        if events.contains(ReadFlags::QUEUE_OVERFLOW) {
            // Events were lost: nothing that is kept is to be trusted.
            return self.clear();
        }
        let gone =
            ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT | ReadFlags::IGNORED;
        let mut all = self.watched.borrow_mut();
        let Some(watched) = all.get_mut(&number) else {
            return;
        };
        if events.intersects(gone) {
            self.let_fall(watched.names.drain().flat_map(|(_, who)| who));
        }
        match name {
            Some(name) => self.let_fall(watched.names.remove(name).into_iter().flatten()),
            None => self.let_fall(watched.own.drain(..)),
        }
        if events.contains(ReadFlags::IGNORED) {
            all.remove(&number);
        }
    }

    fn let_fall(&self, who: impl Iterator<Item = Weak<Footing>>) {
        for footing in who {
            self.places.set(self.places.get().saturating_sub(1));
            if let Some(footing) = footing.upgrade() {
                footing.fallen.set(true);
                self.fell.set(true);
            }
        }
    }

    /// Whether something fell since this was last asked.
    pub fn take_fallen(&self) -> bool {
        self.fell.take()
    }

    /// Lets everything fall, and watches nothing any more.
    pub fn clear(&self) {
        let all = self.watched.take();
        self.ways.take();
        self.scouted.take();
        self.places.set(0);
        for (number, watched) in all {
            let names = watched.names.into_values().flatten();
            self.let_fall(names.chain(watched.own));
            if let Some(inotify) = &self.inotify {
                // A watch that is gone already cannot be taken away.
                let _ = inotify::remove_watch(inotify, number);
            }
        }
    }

    /// The number of a watch. `None`: there is no more to be had, or what is at this path may not be read.
    fn watch(&self, path: &CString, flags: WatchFlags) -> rustix::io::Result<i32> {
        let Some(inotify) = &self.inotify else {
            return Err(rustix::io::Errno::NOSYS);
        };
        let number = inotify::add_watch(inotify, path.as_c_str(), flags | WatchFlags::MASK_ADD)
            .inspect_err(|error| self.complain(*error))?;
        self.watched.borrow_mut().entry(number).or_default();
        Ok(number)
    }

    fn complain(&self, error: rustix::io::Errno) {
        if error == rustix::io::Errno::NOSPC && !self.complained.replace(true) {
            let text = "there are no more inotify watches (sysctl fs.inotify.max_user_watches): \
                        files of some folders are looked at again for each request";
            self.journal
                .error(0, LogLevel::Warn, Origin::default(), text);
        }
    }

    /// Notes that `footing` stands on a name of a watched folder; without a name on the folder itself.
    fn note(&self, number: i32, name: Option<&[u8]>, footing: &Rc<Footing>) {
        self.places.set(self.places.get() + 1);
        let mut all = self.watched.borrow_mut();
        let watched = all.entry(number).or_default();
        let who = match name {
            None => &mut watched.own,
            Some(name) => watched.names.entry(name.into()).or_default(),
        };
        if who.len() == who.capacity() {
            let before = who.len();
            who.retain(|footing| footing.strong_count() > 0);
            let forgotten = before - who.len();
            self.places.set(self.places.get().saturating_sub(forgotten));
        }
        who.push(Rc::downgrade(footing));
    }

    fn make_room(&self) {
        if self.places.get() >= self.tidied_at.get() {
            self.tidy();
            self.tidied_at.set(TIDY.max(2 * self.places.get()));
        }
        if self.ways.borrow().len() >= FOLDERS || self.places.get() >= PLACES {
            self.clear();
        }
    }
}

impl Ground {
    /// Forgets the names that no route stands on: routes that are kept are few, files may be many.
    fn tidy(&self) {
        let mut left = 0;
        for watched in self.watched.borrow_mut().values_mut() {
            watched.names.retain(|_, who| {
                who.retain(|footing| footing.strong_count() > 0);
                left += who.len();
                !who.is_empty()
            });
            watched.own.retain(|footing| footing.strong_count() > 0);
            left += watched.own.len();
        }
        self.places.set(left);
    }
}

fn folder_of(file: &[u8]) -> &[u8] {
    let slash = memchr::memrchr(b'/', file).unwrap_or(0);
    &file[..slash]
}

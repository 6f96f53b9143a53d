//! Sets the first watch on a folder, on its own thread.
//!
//! The first watch makes the system mark every name of the folder that it remembers, which takes
//! tens of milliseconds for a hundred thousand names. The loop's watch then finds the names marked.
//! The warmer has its own inotify instance, so the loop never waits for a lock.

use super::dir_watch::c_path;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A rare event of the children, which makes the system mark them. It is one event only, because
/// the warmer does not read events.
const MARK: WatchFlags = WatchFlags::ATTRIB
    .union(WatchFlags::ONESHOT)
    .union(WatchFlags::ONLYDIR);

pub struct WatchWarmer {
    /// The warmer's instance. `None`: the system gives none, and the loop sets all watches itself.
    inotify: Option<OwnedFd>,
    /// The last watches. For earlier folders the watcher has its own.
    standing: Mutex<Vec<i32>>,
}

impl Default for WatchWarmer {
    fn default() -> WatchWarmer {
        WatchWarmer {
            inotify: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok(),
            standing: Mutex::default(),
        }
    }
}

impl WatchWarmer {
    /// Marks the folder of a file, and the file's real folder if its path leads through links.
    pub fn warm(&self, file: &[u8]) {
        let Some(inotify) = &self.inotify else { return };
        let path = Path::new(OsStr::from_bytes(file));
        let real = std::fs::canonicalize(path).ok();
        let mut folders = vec![path.parent(), real.as_deref().and_then(Path::parent)];
        folders.dedup();
        let marked = folders.into_iter().flatten().filter_map(|folder| {
            inotify::add_watch(
                inotify,
                c_path(folder.as_os_str().as_bytes()).as_c_str(),
                MARK,
            )
            .ok()
        });
        let marked: Vec<i32> = marked.collect();
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        for number in std::mem::replace(&mut *standing, marked.clone()) {
            if !marked.contains(&number) {
                // The watch may have ended by itself.
                let _ = inotify::remove_watch(inotify, number);
            }
        }
    }
}

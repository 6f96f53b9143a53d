//! Sets the first watch on a folder, on its own thread.
//!
//! The first watch makes the kernel mark every name of the folder that it has in memory. For a
//! hundred thousand names this takes tens of milliseconds. The event loop's own watch then finds
//! the names marked already. The warmer has its own inotify instance, so the loop never waits for a
//! lock.

use super::dir_watch::c_path;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A rare event of the folder's children, which makes the kernel mark them. Only one event is
/// watched, because the warmer does not read events.
const MARK: WatchFlags = WatchFlags::ATTRIB
    .union(WatchFlags::ONESHOT)
    .union(WatchFlags::ONLYDIR);

pub struct WatchWarmer {
    /// The warmer's inotify instance. `None` if the system gives none. The event loop then sets all
    /// watches itself.
    inotify: Option<OwnedFd>,
    /// The most recent watches. For earlier folders the watcher has its own watches.
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
                // The system may have removed the watch already.
                let _ = inotify::remove_watch(inotify, number);
            }
        }
    }
}

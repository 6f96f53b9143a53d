//! The first watch on a folder, put on by a thread. The system then marks every name it remembers of the folder, which takes tens
//! of milliseconds where that is a hundred thousand; who watches the folder next finds them marked.
//!
//! An inotify of its own: who waits for a lock of this one is another thread, never the loop.

use super::way::c_path;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Something of the children, so that they are marked, and seldom; once, so that nothing gathers that nobody reads.
const MARK: WatchFlags = WatchFlags::ATTRIB
    .union(WatchFlags::ONESHOT)
    .union(WatchFlags::ONLYDIR);

pub struct Scout {
    /// `None`: the system gives us none, and the loop does all itself.
    inotify: Option<OwnedFd>,
    /// Put on last: the ground's own watch is there since.
    standing: Mutex<Vec<i32>>,
}

impl Scout {
    pub fn new() -> Scout {
        Scout {
            inotify: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok(),
            standing: Mutex::default(),
        }
    }

    /// Marks the folder of a file, and where a link leads from it the folder it leads to.
    pub fn go_ahead(&self, file: &[u8]) {
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
                // It may have ended by itself.
                let _ = inotify::remove_watch(inotify, number);
            }
        }
    }
}

//! A program's file as the front has seen it: while nothing happens to it, the worker that runs it need not look at it.
//!
//! The file itself is watched and the way to it, not the folder: scripts write beside themselves, and that shall wake nobody.

use mehari_filewatch::{CacheValidity, FileWatcher};
use mehari_pool::file_mark;
use rustix::fs::Stat;
use std::ffi::CString;
use std::rc::Rc;

#[derive(Debug, Clone)]
pub struct Seen {
    validity: Rc<CacheValidity>,
    mark: u64,
}

impl Seen {
    /// `None`: the file cannot be watched, or there is none.
    pub fn look(file: &[u8], watcher: &FileWatcher) -> Option<Seen> {
        let (validity, stat) = watcher.depend_on_file(file)?;
        let mark = mark(&stat);
        Some(Seen { validity, mark })
    }

    /// 0: something has happened to the file.
    pub fn mark(&self) -> u64 {
        if self.validity.holds() {
            self.mark
        } else {
            0
        }
    }

    /// A second look: not all that happens to a file makes an event.
    pub fn is_confirmed(&self, file: &[u8]) -> bool {
        let found = CString::new(file)
            .ok()
            .and_then(|name| rustix::fs::stat(name.as_c_str()).ok());
        self.validity.holds() && found.is_some_and(|stat| mark(&stat) == self.mark)
    }
}

fn mark(stat: &Stat) -> u64 {
    file_mark([
        stat.st_dev,
        stat.st_ino,
        stat.st_size as u64,
        stat.st_mtime,
        stat.st_mtime_nsec,
    ])
}

//! Watches a program's file. While the file is unchanged, the worker need not check it.
//!
//! The file and the path to it are watched. Other files of the folder are not watched, because
//! scripts write into their own folder.

use mehari_filewatch::{CacheValidity, FileWatcher};
use mehari_pool::file_mark;
use rustix::fs::Stat;
use std::ffi::CString;
use std::rc::Rc;

#[derive(Debug, Clone)]
pub struct FileMark {
    validity: Rc<CacheValidity>,
    mark: u64,
}

impl FileMark {
    /// Begins to watch a file and returns its mark. `None`: the file does not exist or cannot be
    /// watched.
    pub fn look(file: &[u8], watcher: &FileWatcher) -> Option<FileMark> {
        let (validity, stat) = watcher.depend_on_file(file)?;
        let mark = mark(&stat);
        Some(FileMark { validity, mark })
    }

    /// Returns the mark. 0: the file has changed.
    pub fn mark(&self) -> u64 {
        if self.validity.holds() {
            self.mark
        } else {
            0
        }
    }

    /// Whether the file is unchanged. The file itself is checked too, because not every change
    /// causes an event.
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
        stat.st_mtime as i64 as u64, // the sign depends on the processor
        stat.st_mtime_nsec,
    ])
}

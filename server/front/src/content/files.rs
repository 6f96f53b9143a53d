//! The state that all file handlers share: the number of files that are kept open, and the threads
//! that read from disks.

use super::readers::Readers;
use std::cell::Cell;
use std::fs::File;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

/// The most files that stay open between requests.
const OPEN: usize = 256;

#[derive(Debug, Default, Clone)]
pub struct Files(Rc<Shelf>);

#[derive(Debug, Default)]
pub struct Shelf {
    pub readers: Readers,
    open: Cell<usize>,
    sweeps: Cell<u64>,
}

impl Deref for Files {
    type Target = Shelf;
    fn deref(&self) -> &Shelf {
        &self.0
    }
}

/// A file that stays open for the next request.
#[derive(Debug)]
pub struct KeptFile {
    pub file: Arc<File>,
    files: Files,
}

impl Files {
    /// Keeps a file open. `None`: the limit is reached.
    pub fn keep(&self, file: &Arc<File>) -> Option<KeptFile> {
        if self.open.get() >= OPEN {
            return None;
        }
        self.open.set(self.open.get() + 1);
        Some(KeptFile {
            file: file.clone(),
            files: self.clone(),
        })
    }

    /// Notes a sweep. There are four sweeps per second.
    pub fn swept(&self) {
        self.sweeps.set(self.sweeps.get() + 1);
    }

    pub fn sweep(&self) -> u64 {
        self.sweeps.get()
    }
}

impl Drop for KeptFile {
    fn drop(&mut self) {
        let open = &self.files.open;
        open.set(open.get() - 1);
    }
}

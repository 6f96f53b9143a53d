//! What answering from files shares: room for open files, and who reads what is not in memory.

use super::readers::Readers;
use std::cell::Cell;
use std::fs::File;
use std::rc::Rc;
use std::sync::Arc;

/// Files kept open between requests, at most.
const OPEN: usize = 256;

#[derive(Debug, Default, Clone)]
pub struct Files {
    pub readers: Rc<Readers>,
    open: Rc<Cell<usize>>,
    sweeps: Rc<Cell<u64>>,
}

/// A file that stays open for the next request.
#[derive(Debug)]
pub struct Kept {
    pub file: Arc<File>,
    open: Rc<Cell<usize>>,
}

impl Files {
    /// `None`: as many are open as may be.
    pub fn keep(&self, file: &Arc<File>) -> Option<Kept> {
        if self.open.get() >= OPEN {
            return None;
        }
        self.open.set(self.open.get() + 1);
        Some(Kept {
            file: file.clone(),
            open: self.open.clone(),
        })
    }

    /// The sweep has come by: four times a second.
    pub fn swept(&self) {
        self.sweeps.set(self.sweeps.get() + 1);
    }

    pub fn sweep(&self) -> u64 {
        self.sweeps.get()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.open.set(self.open.get() - 1);
    }
}

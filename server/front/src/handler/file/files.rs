//! What answering from files shares: room for open files, and who reads what is not in memory.

use super::readers::Readers;
use std::cell::Cell;
use std::fs::File;
use std::rc::Rc;
use std::sync::Arc;

/// Files kept open between requests, at most.
const OPEN: usize = 256;

#[derive(Default, Clone)]
pub struct Files {
    pub readers: Rc<Readers>,
    open: Rc<Cell<usize>>,
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
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.open.set(self.open.get() - 1);
    }
}

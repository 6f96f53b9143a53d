//! Holds the bell: the front's sleep word and its eventfd.
//!
//! Workers read the sleep word after each write. A worker writes to the eventfd only while the
//! front sleeps.

use crate::layout::Bell as Page;
use crate::memory::Memory;
use rustix::event::{eventfd, EventfdFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;
use std::sync::atomic::{fence, Ordering::SeqCst};

pub struct Bell {
    memory: Memory,
    event: OwnedFd,
}

impl Bell {
    /// Makes a bell that no process has rung.
    ///
    /// # Errors
    ///
    /// The error of making the memory file or the eventfd: no descriptor or no memory is left.
    pub fn create() -> io::Result<Bell> {
        Ok(Bell {
            memory: Memory::create("mehari-bell", 4096)?,
            event: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    pub fn page_file(&self) -> BorrowedFd<'_> {
        self.memory.file()
    }

    pub fn event_file(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    fn page(&self) -> &Page {
        // SAFETY: the mapping is page aligned, larger than the struct, and holds atomics only.
        unsafe {
            &*self
                .memory
                .at(0, std::mem::size_of::<Page>())
                .cast::<Page>()
        }
    }

    /// Announces that the front is about to sleep. The caller then looks at the rings once more.
    /// Workers ring the bell after every later write.
    pub fn declare_sleep(&self) {
        self.page().front_sleeps.store(1, SeqCst);
        fence(SeqCst);
    }

    /// Rings the bell from the front itself, if the front has left work for its next turn.
    pub fn ring(&self) {
        // The write fails only if the counter is full, and a full counter has been rung already.
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }

    pub fn declare_awake(&self) {
        self.page().front_sleeps.store(0, SeqCst);
    }
}

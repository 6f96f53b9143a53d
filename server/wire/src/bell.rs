//! The front's sleep word: workers look at it after they have written, and ring only a sleeping front.

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

    /// Before the last look at the rings: from now on workers ring.
    pub fn declare_sleep(&self) {
        self.page().front_sleeps.store(1, SeqCst);
        fence(SeqCst);
    }

    /// The front rings itself: there is more than it has looked at, and nobody else need ring for it.
    pub fn ring(&self) {
        // A counter that is full has been rung.
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }

    pub fn awake(&self) {
        self.page().front_sleeps.store(0, SeqCst);
    }
}

//! Reads from the kernel which pages a process has for itself (`/proc/PID/pagemap`).

use crate::error::MemoryError;
use mehari_profile::memory::word;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The page table of a process.
pub struct PageTable {
    file: File,
    page: u64,
}

/// What the kernel tells of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageState(u64);

const IS_EXCLUSIVE: u64 = 1 << 56;
const IS_OF_FILE: u64 = 1 << 61;
const IS_SWAPPED: u64 = 1 << 62;
const IS_PRESENT: u64 = 1 << 63;

impl PageState {
    /// Whether the process has written to the page, or has inherited it from a process that has.
    pub fn is_written(self) -> bool {
        self.0 & (IS_PRESENT | IS_SWAPPED) != 0 && self.0 & IS_OF_FILE == 0
    }

    /// Whether no other process has the page.
    pub fn is_exclusive(self) -> bool {
        self.is_written() && self.0 & IS_EXCLUSIVE != 0
    }
}

impl PageTable {
    /// # Errors
    /// The process has gone or is another user's.
    pub fn of(pid: u32) -> Result<PageTable, MemoryError> {
        let file = File::open(format!("/proc/{pid}/pagemap"));
        let file = file.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => MemoryError::Gone(pid),
            _ => MemoryError::Forbidden(pid),
        })?;
        Ok(PageTable {
            file,
            page: rustix::param::page_size() as u64,
        })
    }

    pub fn page_size(&self) -> u64 {
        self.page
    }

    /// Returns the states of consecutive pages. Pages that cannot be read are left out.
    pub fn states(&self, start: u64, count: u64) -> Vec<PageState> {
        let mut bytes = vec![0; 8 * count as usize];
        let at = start / self.page * 8;
        let length = self.file.read_at(&mut bytes, at).unwrap_or(0);
        let words = bytes[..length].chunks_exact(8);
        words.map(|eight| PageState(word(eight, 0))).collect()
    }

    /// Returns the state of the page with this address.
    pub fn state(&self, address: u64) -> PageState {
        self.states(address, 1)
            .first()
            .copied()
            .unwrap_or(PageState(0))
    }
}

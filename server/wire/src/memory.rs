//! Makes a shared memory file (memfd_create(2)) and maps it.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{fcntl_add_seals, ftruncate, memfd_create, MemfdFlags, SealFlags};
use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};
use std::io;
use std::ptr::NonNull;

pub struct Memory {
    base: NonNull<u8>,
    length: usize,
    file: OwnedFd,
}

impl Memory {
    /// Makes a file whose length no process can change. Otherwise a worker could shorten the file,
    /// and the front would be ended by a signal where it reads. A kernel or container that refuses
    /// such files gets a plain one: it serves, and trusts its workers in this.
    pub fn create(name: &str, length: usize) -> io::Result<Memory> {
        let flags = MemfdFlags::CLOEXEC;
        let sealable = memfd_create(name, flags | MemfdFlags::ALLOW_SEALING);
        let is_sealable = sealable.is_ok();
        let file = sealable.or_else(|_| memfd_create(name, flags))?;
        ftruncate(&file, length as u64)?;
        if is_sealable {
            fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW)?;
        }
        // SAFETY: this is a fresh mapping of a new file at an address that the kernel chooses.
        let base = unsafe {
            mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &file,
                0,
            )?
        };
        let base = NonNull::new(base.cast()).expect("mmap answers no null");
        Ok(Memory { base, length, file })
    }

    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Returns the address of byte `offset`. At least `length` bytes of the mapping lie behind this
    /// address.
    ///
    /// # Panics
    ///
    /// If the range exceeds the mapping.
    pub fn at(&self, offset: usize, length: usize) -> *mut u8 {
        assert!(offset + length <= self.length, "inside the mapping");
        // SAFETY: the assertion keeps the result inside the mapping.
        unsafe { self.base.as_ptr().add(offset) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: `create` made the mapping, the mapping is removed once, and no reference outlives
        // `self`.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.length) };
    }
}

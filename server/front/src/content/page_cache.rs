//! Reads files without waiting for a disk: only data in the page cache are read.
//!
//! File bodies, spools and requests to back ends call this module first. A thread reads other data.

use rustix::io::{Errno, ReadWriteFlags};
use std::fs::File;
use std::io::{self, IoSliceMut};

/// Reads from the page cache. `None`: the data are not in the page cache, or the file system cannot
/// read without waiting.
pub fn read_resident(
    file: &File,
    start: u64,
    wanted: usize,
    into: &mut Vec<u8>,
) -> io::Result<Option<usize>> {
    let before = into.len();
    into.resize(before + wanted, 0);
    let mut slices = [IoSliceMut::new(&mut into[before..])];
    let result = rustix::io::preadv2(file, &mut slices, start, ReadWriteFlags::NOWAIT);
    into.truncate(before + *result.as_ref().unwrap_or(&0));
    match result {
        Ok(count) => Ok(Some(count)),
        Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

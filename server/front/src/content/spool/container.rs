//! A temporary file that several spools share, so that they need only one descriptor. Each spool
//! has a region of the file.
//!
//! The regions lie far apart in a sparse file. The disk space of a finished region is freed.

use crate::content::page_cache::read_resident;
use rustix::fs::{fallocate, FallocateFlags};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

#[derive(Debug)]
pub struct Container {
    /// The most bytes of all regions together. A single region may use all of them, so this is also
    /// the distance between regions.
    limit: u64,
    regions: Mutex<Regions>,
}

#[derive(Debug, Default)]
struct Regions {
    /// The file, which is open while there is a region.
    file: Weak<File>,
    /// Whether each region is in use, by index.
    taken: Vec<bool>,
    /// The bytes of all regions on the disk.
    filled: u64,
}

/// A region of a container's file, or a file of its own.
#[derive(Debug)]
pub struct Region {
    file: Arc<File>,
    start: u64,
    /// The container, the index of this region, and how many bytes of the region are filled.
    /// `None`: the region is a file of its own.
    place: Option<(Arc<Container>, usize, Mutex<u64>)>,
}

impl Container {
    /// Makes a container. Its file is made when a spool first needs a region.
    pub fn new(limit: u64) -> Container {
        Container {
            limit,
            regions: Mutex::default(),
        }
    }

    /// Returns the most bytes of a region.
    pub fn region(&self) -> u64 {
        self.limit
    }

    /// Takes a free region and returns it.
    pub fn open(container: &Arc<Container>) -> io::Result<Region> {
        let mut regions = container.regions();
        let file = match regions.file.upgrade() {
            Some(file) => file,
            None => {
                let file = Arc::new(tempfile::tempfile()?);
                regions.file = Arc::downgrade(&file);
                file
            }
        };
        let free = regions.taken.iter().position(|taken| !taken);
        let number = free.unwrap_or(regions.taken.len());
        match free {
            Some(number) => regions.taken[number] = true,
            None => regions.taken.push(true),
        }
        Ok(Region {
            file,
            start: number as u64 * container.limit,
            place: Some((container.clone(), number, Mutex::default())),
        })
    }

    fn regions(&self) -> MutexGuard<'_, Regions> {
        self.regions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Region {
    /// Makes a file for a single spool.
    pub fn alone() -> io::Result<Region> {
        Ok(Region {
            // The file is made with O_TMPFILE in TMPDIR. On a file system without O_TMPFILE, it is
            // created and unlinked.
            file: Arc::new(tempfile::tempfile()?),
            start: 0,
            place: None,
        })
    }

    pub fn write(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.fill(at + bytes.len() as u64)?;
        self.file.write_all_at(bytes, self.start + at)
    }

    /// Reserves the bytes before `end`.
    fn fill(&self, end: u64) -> io::Result<()> {
        let Some((container, _, filled)) = &self.place else {
            return Ok(());
        };
        let mut filled = filled.lock().unwrap_or_else(PoisonError::into_inner);
        let more = end.saturating_sub(*filled);
        let mut regions = container.regions();
        if regions.filled + more > container.limit {
            return Err(io::Error::new(
                io::ErrorKind::StorageFull,
                "the responses of one connection have reached their limit on the disk",
            ));
        }
        regions.filled += more;
        *filled += more;
        Ok(())
    }

    pub fn read(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        self.file.read_exact_at(into, self.start + at)
    }

    /// Does the same as [`read_resident`] for this region.
    pub fn read_resident(
        &self,
        at: u64,
        count: usize,
        into: &mut Vec<u8>,
    ) -> io::Result<Option<usize>> {
        read_resident(&self.file, self.start + at, count, into)
    }

    /// Returns the file of a region that has a file of its own. The file's offset is 0.
    pub fn into_file(self: Arc<Self>) -> io::Result<File> {
        let file = self.file.clone();
        drop(self);
        Arc::try_unwrap(file).or_else(|shared| shared.try_clone())
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let Some((container, number, filled)) = &self.place else {
            return;
        };
        let filled = *filled.lock().unwrap_or_else(PoisonError::into_inner);
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let is_empty = filled == 0 || fallocate(&*self.file, flags, self.start, filled).is_ok();
        let mut regions = container.regions();
        // The space of the last region is freed when the file is closed. On a file system without
        // holes, the space of all regions is freed only then.
        if is_empty || Arc::strong_count(&self.file) == 1 {
            regions.filled -= filled;
            regions.taken[*number] = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn regions_share_a_file_and_give_their_space_back() {
        let container = Arc::new(Container::new(1 << 20));
        let first = Container::open(&container).expect("a file");
        let second = Container::open(&container).expect("a region");
        assert!(Arc::ptr_eq(&first.file, &second.file));
        first.write(&[1; 8192], 0).expect("room");
        second.write(&[2; 8192], 0).expect("room");
        let mut read = [0; 8192];
        first.read(&mut read, 0).expect("read");
        assert_eq!(read, [1; 8192]);
        let blocks = || second.file.metadata().expect("a file").blocks();
        let before = blocks();
        drop(first);
        assert!(blocks() < before, "the first region's space is free again");
        second.read(&mut read, 0).expect("read");
        assert_eq!(read, [2; 8192]);
        let third = Container::open(&container).expect("a region");
        assert_eq!(third.start, 0);
        third.read(&mut read, 0).expect("within the file");
        assert_eq!(
            read, [0; 8192],
            "a spool does not read bytes of another spool"
        );
    }

    #[test]
    fn regions_together_fill_no_more_than_one_could() {
        let container = Arc::new(Container::new(10_000));
        let first = Container::open(&container).expect("a file");
        let second = Container::open(&container).expect("a region");
        first.write(&[1; 6000], 0).expect("room");
        assert!(second.write(&[2; 6000], 0).is_err());
        second.write(&[2; 4000], 0).expect("room");
        first.write(&[1; 6000], 0).expect("it is filled already");
        drop(first);
        second.write(&[2; 6000], 0).expect("room again");
    }
}

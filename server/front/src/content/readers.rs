//! Threads that read from disks, so the event loop never waits for a disk. The number of concurrent
//! reads is limited, and further reads wait.
//!
//! The data stay in the page cache and are sent from there. The window after the wanted window is
//! requested too, so the disk works while the first window is sent.

use mehari_config::Coding;
use mehari_filewatch::WatchWarmer;
use mehari_net::blocking_pool::BlockingPool;
use rustix::fs::Advice;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The most concurrent reads. A disk sorts a few dozen requests. More requests would wait in the
/// disk's queue instead of this one.
const AT_ONCE: usize = 32;

#[derive(Debug)]
pub struct Readers(BlockingPool);

impl Default for Readers {
    fn default() -> Readers {
        Readers(BlockingPool::new(AT_ONCE))
    }
}

impl Readers {
    /// Reads a piece of a file into the page cache, and requests the data after the piece up to
    /// `ahead`.
    pub async fn read_ahead(
        &self,
        file: &Arc<File>,
        start: u64,
        count: usize,
        ahead: u64,
    ) -> io::Result<()> {
        let file = file.clone();
        self.0
            .run(move || {
                ask_for(&file, start, ahead);
                read_through(&file, start, count)
            })
            .await
    }

    /// Requests a piece that will be needed soon. The caller does not wait. If all readers are
    /// busy, nothing happens.
    pub fn ask(&self, file: &Arc<File>, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let file = file.clone();
        self.0.run_if_free(move || ask_for(&file, start, end));
    }

    /// Reads up to `count` bytes, and requests the data after these bytes up to `ahead`.
    pub async fn read(
        &self,
        file: &Arc<File>,
        start: u64,
        count: usize,
        ahead: u64,
    ) -> io::Result<Vec<u8>> {
        let file = file.clone();
        self.0
            .run(move || {
                ask_for(&file, start, ahead);
                let mut buffer = vec![0; count];
                let mut filled = 0;
                while filled < count {
                    match file.read_at(&mut buffer[filled..], start + filled as u64)? {
                        0 => break,
                        read => filled += read,
                    }
                }
                buffer.truncate(filled);
                Ok(buffer)
            })
            .await
    }

    /// Reads the metadata of a path, and of the file's neighbours, from the disk.
    pub async fn read_metadata(&self, file: Vec<u8>) {
        let look = |name: &[u8]| crate::content::stat::stat(name);
        let looked = self.0.run(move || {
            if look(&file).is_some_and(|(_, stat)| crate::content::stat::is_file(&stat)) {
                for coding in Coding::ALL {
                    look(&[&file[..], coding.suffix().as_bytes()].concat());
                }
            }
            Ok(())
        });
        // The next lookup of the path reports the error.
        let _ = looked.await;
    }

    /// Runs other work that reads from a disk. `None`: the runtime ends.
    pub async fn find<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Option<R> {
        self.0.run(move || Ok(work())).await.ok()
    }

    /// Prepares watches on the folder of a file.
    pub async fn warm(&self, warmer: Arc<WatchWarmer>, file: Vec<u8>) {
        let went = self.0.run(move || {
            warmer.warm(&file);
            Ok(())
        });
        // After a failure, setting the watch takes longer.
        let _ = went.await;
    }
}

/// Advises the kernel to read ahead. If the kernel does not follow, later reads wait longer.
fn ask_for(file: &File, start: u64, end: u64) {
    let count = end.saturating_sub(start);
    if count > 0 {
        let _ = rustix::fs::fadvise(file, start, count, Advice::WillNeed);
    }
}

/// Waits until the page cache holds a piece. The pages are spliced to /dev/null, which copies
/// nothing.
fn read_through(file: &File, start: u64, count: usize) -> io::Result<()> {
    let (mut at, end) = (start, start + count as u64);
    let Ok(null) = OpenOptions::new().write(true).open("/dev/null") else {
        return read_and_forget(file, start, end);
    };
    while at < end {
        let left = (end - at) as usize;
        match rustix::fs::sendfile(&null, file, Some(&mut at), left) {
            Ok(0) => break,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // The file system does not support splice, so the data are read.
            Err(_) => return read_and_forget(file, at, end),
        }
    }
    Ok(())
}

fn read_and_forget(file: &File, start: u64, end: u64) -> io::Result<()> {
    let mut forgotten = [0; 16 * 1024];
    let mut at = start;
    while at < end {
        match file.read_at(&mut forgotten, at)? {
            0 => break,
            read => at += read as u64,
        }
    }
    Ok(())
}

//! Holds bytes that arrive faster than they leave: in memory first, then in an unlinked file.
//!
//! The body of a request is stored completely and then taken (`finish`). The response of a program
//! is taken while further bytes arrive (`take`, for `backlog`). Threads write the file, because the
//! kernel may make a writer wait for the disk.

mod container;
mod take;

pub use container::Container;
use container::Region;
use mehari_pool::Body;
use std::fs::File;
use std::future::{poll_fn, Future};
use std::io::{self, Seek};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// The most bytes of a request's body in memory.
pub const IN_MEMORY: usize = 64 * 1024;
/// The number of bytes that are collected before a thread writes them.
pub const BATCH: usize = 256 * 1024;

pub struct Spool {
    /// The newest bytes.
    memory: Vec<u8>,
    /// The older bytes, which a thread writes to the file.
    writing: Option<Writing>,
    file: Option<Arc<Region>>,
    /// The container of the shared file, if the spool uses a region of such a file.
    container: Option<Arc<Container>>,
    /// How many bytes were written to the file. `taken`: how many of them were taken.
    written: u64,
    taken: u64,
    reading: Option<JoinHandle<io::Result<Vec<u8>>>>,
    /// The largest size of the file in bytes. At this size, writing continues at the beginning.
    ring: u64,
    /// Whether a write has failed. After a failure nothing more is written.
    broken: bool,
    failure: Option<io::Error>,
}

struct Writing {
    batch: Arc<Vec<u8>>,
    thread: JoinHandle<io::Result<Arc<Region>>>,
}

impl Default for Spool {
    fn default() -> Spool {
        Spool::with_ring(u64::MAX)
    }
}

impl Spool {
    /// Makes a spool whose file never exceeds `ring` bytes. Further bytes stay in memory.
    pub fn with_ring(ring: u64) -> Spool {
        Spool {
            memory: Vec::new(),
            writing: None,
            file: None,
            container: None,
            written: 0,
            taken: 0,
            reading: None,
            ring,
            broken: false,
            failure: None,
        }
    }

    /// Makes a spool in a region of a shared file. The spool may grow to the region's size.
    pub fn within(container: &Arc<Container>) -> Spool {
        let mut spool = Spool::with_ring(container.region());
        spool.container = Some(container.clone());
        spool
    }

    /// Returns the number of bytes in the spool.
    pub fn length(&self) -> u64 {
        self.filed() + self.in_memory() as u64
    }

    /// Returns the number of bytes in memory.
    pub fn in_memory(&self) -> usize {
        let moving = self.writing.as_ref();
        self.memory.len() + moving.map_or(0, |writing| writing.batch.len())
    }

    /// Returns the buffer for further bytes. The caller appends them and then calls `settle`.
    pub fn memory(&mut self) -> &mut Vec<u8> {
        &mut self.memory
    }

    pub fn has_file(&self) -> bool {
        self.file.is_some() || self.writing.is_some()
    }

    /// Returns the error of a failed write, but only once. The unwritten bytes stay in memory.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// Moves bytes beyond the limit to the file and waits until they are written.
    pub async fn settle(&mut self) -> io::Result<()> {
        let limit = if self.file.is_some() {
            BATCH
        } else {
            IN_MEMORY
        };
        self.write_out(limit).await
    }

    async fn write_out(&mut self, limit: usize) -> io::Result<()> {
        poll_fn(|cx| self.poll_settle(cx, limit)).await;
        self.take_failure().map_or(Ok(()), Err)
    }

    /// Begins to move bytes to the file, if more than `limit` bytes are in memory, the file has
    /// room, and no write has failed. `Pending`: a thread is writing. Further bytes may be appended
    /// meanwhile.
    pub fn poll_settle(&mut self, cx: &mut Context<'_>, limit: usize) -> Poll<()> {
        loop {
            ready!(self.poll_written(cx));
            let fits = self.filed() + self.memory.len() as u64 <= self.ring;
            if self.memory.len() <= limit || !fits || self.broken {
                return Poll::Ready(());
            }
            self.start_writing();
        }
    }

    fn filed(&self) -> u64 {
        self.written - self.taken
    }

    fn start_writing(&mut self) {
        let batch = Arc::new(std::mem::take(&mut self.memory));
        let (file, container) = (self.file.clone(), self.container.clone());
        let (at, ring) = (self.written % self.ring, self.ring);
        let bytes = batch.clone();
        let thread = tokio::task::spawn_blocking(move || {
            let region = match (file, container) {
                (Some(region), _) => region,
                (None, Some(container)) => Arc::new(Container::open(&container)?),
                (None, None) => Arc::new(Region::alone()?),
            };
            let to_end = usize::try_from(ring - at).unwrap_or(usize::MAX);
            let (first, second) = bytes.split_at(to_end.min(bytes.len()));
            region.write(first, at)?;
            region.write(second, 0)?;
            Ok(region)
        });
        self.writing = Some(Writing { batch, thread });
    }

    /// Waits for the current write, if any. After a failure the unwritten bytes return to memory.
    fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(writing) = &mut self.writing else {
            return Poll::Ready(());
        };
        let written = ready!(Pin::new(&mut writing.thread).poll(cx));
        let writing = self.writing.take().expect("it was there");
        let mut batch = Arc::unwrap_or_clone(writing.batch);
        match written
            .map_err(io::Error::other)
            .and_then(|written| written)
        {
            Ok(file) => {
                self.file = Some(file);
                self.written += batch.len() as u64;
                if self.memory.capacity() == 0 && batch.capacity() <= 2 * BATCH {
                    batch.clear();
                    self.memory = batch;
                }
            }
            Err(error) => {
                batch.append(&mut self.memory);
                self.memory = batch;
                self.broken = true;
                self.failure = Some(error);
            }
        }
        Poll::Ready(())
    }

    /// Returns the complete body.
    pub async fn finish(mut self) -> io::Result<Spooled> {
        if self.file.is_some() {
            self.write_out(0).await?;
        }
        match self.file.take() {
            None => Ok(Spooled::Memory(std::mem::take(&mut self.memory))),
            Some(region) => Ok(Spooled::File(region.into_file()?, self.written)),
        }
    }
}

impl Drop for Spool {
    /// Closes the file on a thread, because closing an unlinked file frees its blocks, which takes
    /// time.
    fn drop(&mut self) {
        let Some(file) = self.file.take() else { return };
        if let Ok(runtime) = Handle::try_current() {
            drop(runtime.spawn_blocking(move || drop(file)));
        }
    }
}

pub enum Spooled {
    Memory(Vec<u8>),
    File(File, u64),
}

impl Spooled {
    /// Gives the bytes to a handler, as the body of a request.
    ///
    /// # Errors
    /// The file has no beginning, because it is not an ordinary file.
    pub fn give<T>(self, to: impl FnOnce(Body<'_>) -> T) -> io::Result<T> {
        match self {
            Spooled::Memory(bytes) => Ok(to(Body::Memory(&bytes))),
            Spooled::File(mut file, length) => {
                file.rewind()?;
                Ok(to(Body::File(file.into(), length)))
            }
        }
    }
}

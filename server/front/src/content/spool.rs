//! Bytes that one side says faster than the other takes them: memory while they are few, then a file
//! nobody else can see.
//!
//! A request's body goes in and comes out whole (`finish`); a program's response comes out at the
//! front while it still goes in at the end (`take`, for `backlog`). Threads of the blocking pool
//! write: a write to the page cache is memory speed until the kernel makes writers wait for the
//! disk, and then it must not be the loop that waits.

mod container;
mod take;

pub use container::Container;
use container::Region;
use std::fs::File;
use std::future::{poll_fn, Future};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Bytes of a request's body that stay in memory.
pub const IN_MEMORY: usize = 64 * 1024;
/// Bytes that are collected before a thread writes them.
pub const BATCH: usize = 256 * 1024;

pub struct Spool {
    /// The newest bytes.
    memory: Vec<u8>,
    /// The ones before, on their way into the file.
    writing: Option<Writing>,
    file: Option<Arc<Region>>,
    /// Where the file comes from, if others share it.
    container: Option<Arc<Container>>,
    /// Bytes that went through the file, and bytes of them that were taken out again.
    written: u64,
    taken: u64,
    reading: Option<JoinHandle<io::Result<Vec<u8>>>>,
    /// The file is used as a ring of this size.
    ring: u64,
    /// The file could not be written once: no more is put into it.
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
    /// A spool whose file never exceeds `ring` bytes: more than that stays in memory.
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

    /// A spool whose file is a part of another one's, as large as that lets it become.
    pub fn within(container: &Arc<Container>) -> Spool {
        let mut spool = Spool::with_ring(container.region());
        spool.container = Some(container.clone());
        spool
    }

    /// Bytes that are in it.
    pub fn length(&self) -> u64 {
        self.filed() + self.in_memory() as u64
    }

    /// Those of them that fill memory.
    pub fn in_memory(&self) -> usize {
        let moving = self.writing.as_ref();
        self.memory.len() + moving.map_or(0, |writing| writing.batch.len())
    }

    /// Where more bytes may be appended; settle afterwards.
    pub fn memory(&mut self) -> &mut Vec<u8> {
        &mut self.memory
    }

    pub fn has_file(&self) -> bool {
        self.file.is_some() || self.writing.is_some()
    }

    /// Why the file could not be written; told once. What it did not take is in memory.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// Moves to the file what is too much for memory, and waits until it is there.
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

    /// Begins to move what is in memory to the file if it is more than `limit`, and the file has
    /// room and did not fail before. `Pending`: bytes are on their way; more may be appended.
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

    /// Ends the write under way, if there is one. What could not be written is in memory again.
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

    /// The complete body.
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
    /// The last close of an unlinked file frees its pages and blocks: a thread's work as well.
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

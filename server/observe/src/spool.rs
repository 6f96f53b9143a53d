//! Keeps lines on their way to a slow target. Callers append lines in memory, and the spool's own
//! thread writes the lines to the target.
//!
//! [`Spool::append`] takes one uncontended lock. The function makes a system call only in order to
//! wake a waiting writer. Memory is bounded: at most [`CHUNKS`] chunks wait, and further lines are
//! dropped and counted.

use crate::sink::Sink;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

mod writer;

/// The size in bytes at which a chunk goes to the writer.
pub const CHUNK: usize = 64 * 1024;
/// The room in bytes for the line that crosses [`CHUNK`], so that a chunk seldom grows.
const SLACK: usize = 8 * 1024;
/// The largest number of chunks that wait for the disk (4 MiB).
pub const CHUNKS: usize = 64;

/// A function that gets a report of lost lines and the reason. The writer's thread calls it at most
/// once a second.
pub type Complaint = Arc<dyn Fn(&str) + Send + Sync>;

/// A source of lines that become due at a certain time without a call of `append`.
pub trait Late: Send {
    /// Appends the lines that are due at `now`. Returns the time of the next call.
    fn due(&self, now: Instant, into: &mut Vec<u8>) -> Option<Instant>;
}

/// The order to open a log's file again. The file is there if somebody else has opened it.
#[derive(Default)]
struct Reopening(Option<File>);

/// The callers' end of a spool. Dropping the spool waits at most [`PARTING`] until the appended
/// lines are written.
pub struct Spool {
    shared: Arc<Shared>,
}

const PARTING: Duration = Duration::from_secs(2);

struct Shared {
    state: Mutex<SpoolState>,
    work: Condvar,
    written: Condvar,
}

struct SpoolState {
    active: Vec<u8>,
    full: VecDeque<Vec<u8>>,
    free: Vec<Vec<u8>>,
    /// The number of lines dropped since the writer last read this field.
    dropped: u64,
    /// The number of lines appended since the start. The next field counts those that are written
    /// or lost.
    appended: u64,
    done: u64,
    sleep: Sleep,
    reopen: Option<Reopening>,
    hurry: bool,
    closed: bool,
    /// Whether the writer has written all lines and ended.
    ended: bool,
}

/// The event that the writer waits for. Callers wake the writer only for this event.
#[derive(PartialEq, Eq)]
enum Sleep {
    No,
    UntilFull,
    UntilAnything,
}

impl Spool {
    /// Starts the writer's thread. `patience` is the longest time that a line may stay in memory.
    ///
    /// # Errors
    ///
    /// The error of starting the thread.
    pub fn start(
        name: &str,
        sink: Sink,
        patience: Duration,
        late: Option<Box<dyn Late>>,
        complaint: Complaint,
    ) -> io::Result<Spool> {
        let shared = Arc::new(Shared {
            state: Mutex::new(SpoolState {
                active: Vec::with_capacity(CHUNK + SLACK),
                full: VecDeque::with_capacity(CHUNKS),
                free: vec![Vec::with_capacity(CHUNK + SLACK)],
                dropped: 0,
                appended: 0,
                done: 0,
                sleep: Sleep::No,
                reopen: None,
                hurry: false,
                closed: false,
                ended: false,
            }),
            work: Condvar::new(),
            written: Condvar::new(),
        });
        let writer = writer::Writer::new(shared.clone(), sink, patience, late, complaint);
        std::thread::Builder::new()
            .name(name.to_string())
            .spawn(move || writer.run())?;
        Ok(Spool { shared })
    }

    /// Appends one line. `write` appends the bytes of the line, including its newline.
    #[inline]
    pub fn append(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.shared.lock();
        if state.active.len() >= CHUNK && !state.hand_over() {
            state.dropped += 1;
            return;
        }
        write(&mut state.active);
        state.appended += 1;
        let full = state.active.len() >= CHUNK && state.hand_over();
        let wake = match state.sleep {
            Sleep::No => false,
            Sleep::UntilFull => full,
            Sleep::UntilAnything => true,
        };
        if wake {
            state.sleep = Sleep::No;
            drop(state);
            self.shared.work.notify_one();
        }
    }

    /// Opens the file again. `opened`: the file, if the process itself may not open it.
    pub fn reopen(&self, opened: Option<File>) {
        let mut state = self.shared.lock();
        state.reopen = Some(Reopening(opened));
        // The order to reopen counts as a line, so that a flush waits for the reopening.
        state.appended += 1;
        drop(state);
        self.shared.work.notify_one();
    }

    /// Waits until all lines appended so far are written. Returns false if this takes longer than
    /// `limit`.
    pub fn flush(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        let mut state = self.shared.lock();
        // The flush counts as a line, so that the flush also waits for the lines of `Late`.
        state.appended += 1;
        let goal = state.appended;
        state.hurry = true;
        self.shared.work.notify_one();
        while state.done < goal {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return false;
            };
            state = self.shared.wait(&self.shared.written, state, Some(left));
        }
        true
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        let until = Instant::now() + PARTING;
        let mut state = self.shared.lock();
        state.closed = true;
        self.shared.work.notify_one();
        while !state.ended {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return;
            };
            state = self.shared.wait(&self.shared.written, state, Some(left));
        }
    }
}

impl SpoolState {
    /// Queues the active chunk for the writer and makes an empty chunk active. Returns false if the
    /// queue is full.
    fn hand_over(&mut self) -> bool {
        if self.full.len() >= CHUNKS {
            return false;
        }
        let empty = self
            .free
            .pop()
            .unwrap_or_else(|| Vec::with_capacity(CHUNK + SLACK));
        self.full
            .push_back(std::mem::replace(&mut self.active, empty));
        true
    }
}

impl Shared {
    /// Locks the state, even after a panic in another thread. Such a panic leaves at worst half a
    /// line.
    fn lock(&self) -> MutexGuard<'_, SpoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        on: &Condvar,
        state: MutexGuard<'a, SpoolState>,
        limit: Option<Duration>,
    ) -> MutexGuard<'a, SpoolState> {
        match limit {
            None => on.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(limit) => {
                on.wait_timeout(state, limit)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
        }
    }
}

#[cfg(test)]
mod tests;

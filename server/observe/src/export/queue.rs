//! The requests that wait for the thread: a queue with a limit of requests and of bytes. The
//! thread gathers a batch, so most requests wake nobody.

use super::{ExportedRequest, SpareMemory};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most bytes that wait.
const MOST_BYTES: usize = 16 << 20;
/// The most requests and bytes of one batch, and how long the first request waits for others.
const BATCH: usize = 100;
const BATCH_BYTES: usize = 1 << 20;
const GATHERING: Duration = Duration::from_secs(1);

/// What the thread gets from the queue.
pub enum NextBatch {
    Ready(Vec<ExportedRequest>),
    /// Nothing has come for a while.
    Idle,
    /// No request comes any more.
    Closed,
}

pub struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
    /// The most requests that wait.
    most: usize,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<ExportedRequest>,
    bytes: usize,
    /// The memory of requests that were sent, at most of one batch.
    spare: Vec<SpareMemory>,
    /// No request comes any more.
    is_closed: bool,
    /// The thread has ended.
    has_ended: bool,
}

impl QueueState {
    /// `most`: the most requests that wait.
    fn has_batch(&self, most: usize) -> bool {
        self.waiting.len() >= most.min(BATCH) || self.bytes >= BATCH_BYTES
    }
}

impl Queue {
    pub fn new(most: usize) -> Queue {
        Queue {
            state: Mutex::default(),
            changed: Condvar::new(),
            most,
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request. Returns false if there is no room.
    pub fn push(&self, request: ExportedRequest) -> bool {
        let bytes = request.bytes();
        let mut state = self.lock();
        let has_room = state.waiting.len() < self.most && state.bytes + bytes <= MOST_BYTES;
        if state.is_closed || !has_room {
            return false;
        }
        let had_batch = state.has_batch(self.most);
        state.waiting.push_back(request);
        state.bytes += bytes;
        let wakes = state.waiting.len() == 1 || !had_batch && state.has_batch(self.most);
        drop(state);
        if wakes {
            self.changed.notify_all();
        }
        true
    }

    /// Returns the memory of a request that was sent.
    pub fn take_spare(&self) -> SpareMemory {
        self.lock().spare.pop().unwrap_or_default()
    }

    /// Keeps the memory of these requests for others.
    pub fn give_back(&self, batch: Vec<ExportedRequest>) {
        let memory: Vec<SpareMemory> = batch.into_iter().filter_map(SpareMemory::of).collect();
        let mut state = self.lock();
        let room = BATCH.saturating_sub(state.spare.len());
        state.spare.extend(memory.into_iter().take(room));
    }

    /// Waits for requests. `patience`: how long nothing may come.
    pub fn next(&self, patience: Option<Duration>) -> NextBatch {
        let Some(state) = self.wait_for_first(patience) else {
            return NextBatch::Idle;
        };
        let gathers = |state: &mut QueueState| !state.has_batch(self.most) && !state.is_closed;
        let waited = self.changed.wait_timeout_while(state, GATHERING, gathers);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let mut batch = Vec::with_capacity(state.waiting.len().min(BATCH));
        let mut bytes = 0;
        while batch.len() < BATCH && bytes < BATCH_BYTES {
            let Some(request) = state.waiting.pop_front() else {
                break;
            };
            bytes += request.bytes();
            batch.push(request);
        }
        state.bytes -= bytes;
        if batch.is_empty() {
            NextBatch::Closed
        } else {
            NextBatch::Ready(batch)
        }
    }

    /// Waits until a request is there or no more come. `None`: the patience is over.
    fn wait_for_first(&self, patience: Option<Duration>) -> Option<MutexGuard<'_, QueueState>> {
        let is_quiet = |state: &mut QueueState| state.waiting.is_empty() && !state.is_closed;
        let state = self.lock();
        let Some(patience) = patience else {
            let waited = self.changed.wait_while(state, is_quiet);
            return Some(waited.unwrap_or_else(PoisonError::into_inner));
        };
        let waited = self.changed.wait_timeout_while(state, patience, is_quiet);
        let (state, outcome) = waited.unwrap_or_else(PoisonError::into_inner);
        (!outcome.timed_out()).then_some(state)
    }

    /// Waits, unless the queue is closed. Returns whether the queue is open.
    pub fn pause(&self, time: Duration) -> bool {
        let is_open = |state: &mut QueueState| !state.is_closed;
        let waited = self.changed.wait_timeout_while(self.lock(), time, is_open);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !state.is_closed
    }

    /// Ends the queue: the thread sends what waits, and ends.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Notes that the thread ends.
    pub fn end(&self) {
        self.lock().has_ended = true;
        self.changed.notify_all();
    }

    pub fn wait_for_end(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let mut state = self.lock();
        while !state.has_ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

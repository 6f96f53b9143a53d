//! Runs work that costs much processor time on further threads.
//!
//! The front's own thread owns all state and does not wait. Work that a thread can do with data of
//! its own, for example a signature of a TLS handshake, uses another core. If no thread is free,
//! the front's thread does the work itself, so work never queues.

use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use tokio::sync::oneshot;

type Work = Box<dyn FnOnce() + Send>;

/// Threads that start when they are first needed and then live as long as the process.
pub struct ComputeThreads {
    /// The most threads that may run work at once.
    limit: Cell<usize>,
    started: Cell<usize>,
    /// The number of reserved threads.
    busy: Arc<AtomicUsize>,
    queue: OnceCell<Queue>,
}

struct Queue {
    sender: Sender<Work>,
    receiver: Arc<Mutex<Receiver<Work>>>,
}

/// A thread that waits for one piece of work.
pub struct Reserved {
    sender: Sender<Work>,
    turn: Turn,
}

/// Frees the reserved thread when dropped.
struct Turn(Arc<AtomicUsize>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl ComputeThreads {
    /// Allows `limit` threads. Starts none of them yet.
    pub fn new(limit: usize) -> ComputeThreads {
        ComputeThreads {
            limit: Cell::new(limit),
            started: Cell::default(),
            busy: Arc::default(),
            queue: OnceCell::new(),
        }
    }

    /// Changes the number of threads that may run work at once.
    pub fn allow(&self, limit: usize) {
        self.limit.set(limit);
    }

    /// Returns a thread, or `None` if all threads are busy or none can be started.
    pub fn reserve(&self) -> Option<Reserved> {
        let limit = self.limit.get();
        let next = |busy: usize| (busy < limit).then_some(busy + 1);
        let busy = &self.busy;
        let before = busy.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        let before = before.ok()?;
        let turn = Turn(self.busy.clone());
        let queue = self.queue.get_or_init(Queue::new);
        if before >= self.started.get() {
            queue.start_thread(before + 1).ok()?;
            self.started.set(self.started.get() + 1);
        }
        let sender = queue.sender.clone();
        Some(Reserved { sender, turn })
    }

    /// Runs `work` on a thread if one is free, and otherwise on the calling thread.
    ///
    /// # Errors
    ///
    /// `work` has panicked.
    pub async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> io::Result<R> {
        match self.reserve() {
            Some(reserved) => reserved.run(work).await,
            None => Ok(work()),
        }
    }
}

impl Reserved {
    /// Runs `work` on the thread. Dropping the future does not stop the work.
    ///
    /// # Errors
    ///
    /// `work` has panicked.
    pub async fn run<R: Send + 'static>(
        self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> io::Result<R> {
        let Reserved { sender, turn } = self;
        let (tell, told) = oneshot::channel();
        let work = move || {
            let done = catch_unwind(AssertUnwindSafe(work));
            // The thread must be free before the front can ask again.
            drop(turn);
            let _ = tell.send(done);
        };
        let sent = sender.send(Box::new(work));
        sent.map_err(|_| io::Error::other("no thread takes the work"))?;
        let done = told.await.map_err(io::Error::other)?;
        done.map_err(|panic| io::Error::other(text_of(panic.as_ref())))
    }
}

impl Queue {
    fn new() -> Queue {
        let (sender, receiver) = channel();
        Queue {
            sender,
            receiver: Arc::new(Mutex::new(receiver)),
        }
    }

    fn start_thread(&self, number: usize) -> io::Result<()> {
        let receiver = self.receiver.clone();
        let serve = move || loop {
            // A panic of work is caught, so a poisoned lock still holds a good receiver.
            let next = {
                let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
                receiver.recv()
            };
            match next {
                Ok(work) => work(),
                Err(_) => return,
            }
        };
        let thread = thread::Builder::new().name(format!("compute-{number}"));
        thread.spawn(serve).map(drop)
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a thread has panicked").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::thread::current;

    #[tokio::test]
    async fn work_runs_on_another_thread_until_all_are_busy() {
        let threads = ComputeThreads::new(1);
        let here = current().id();
        let first = threads.reserve().expect("a free thread");
        assert!(threads.reserve().is_none(), "the only thread is reserved");
        let at = threads.run(|| current().id()).await.expect("no panic");
        assert_eq!(at, here, "no thread is free, so the caller does the work");
        let at = first.run(|| current().id()).await.expect("no panic");
        assert_ne!(at, here);
        let at = threads.run(|| current().id()).await.expect("no panic");
        assert_ne!(at, here, "the thread is free again");
    }

    #[tokio::test]
    async fn as_many_threads_work_at_once_as_are_allowed() {
        let threads = ComputeThreads::new(2);
        let together = Arc::new(Barrier::new(2));
        let meet = |together: &Arc<Barrier>| {
            let together = together.clone();
            move || together.wait().is_leader()
        };
        let (first, second) =
            tokio::join!(threads.run(meet(&together)), threads.run(meet(&together)));
        assert_ne!(first.expect("no panic"), second.expect("no panic"));
        threads.allow(0);
        assert!(threads.reserve().is_none(), "none is allowed any more");
    }

    #[tokio::test]
    async fn a_panic_is_an_error_and_the_thread_goes_on() {
        let threads = ComputeThreads::new(1);
        let failed = threads.run(|| panic!("planted")).await;
        let error = failed.expect_err("the work has panicked");
        assert_eq!(error.to_string(), "planted");
        let here = current().id();
        let at = threads.run(|| current().id()).await.expect("no panic");
        assert_ne!(at, here, "the thread lives");
    }

    #[tokio::test]
    async fn a_dropped_reservation_frees_its_thread() {
        let threads = ComputeThreads::new(1);
        drop(threads.reserve());
        assert!(threads.reserve().is_some());
    }
}

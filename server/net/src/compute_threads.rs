//! Runs work that costs much processor time on further threads.
//!
//! The front's own thread owns all state and does not wait. Work that a thread can do with data of
//! its own, for example a signature of a TLS handshake, uses another core. If all threads are busy,
//! the front's thread looks for other events once. Then it does the work that no thread has begun,
//! the newest first. While it does, the oldest piece stays for each thread: a thread that becomes
//! free must have work even if the front's thread is computing. So work waits only while every
//! thread computes, the front's own among them.

use std::any::Any;
use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use tokio::sync::oneshot;

/// Does the work and returns what tells the result.
type Work = Box<dyn FnOnce() -> Tell + Send>;
type Tell = Box<dyn FnOnce()>;

/// Threads that start when they are first needed and then live as long as the process.
pub struct ComputeThreads {
    /// The most threads that may run work at once.
    limit: Cell<usize>,
    queue: Arc<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    /// Work has come, or the limit has changed.
    changed: Condvar,
}

/// The work that no thread has begun.
#[derive(Default)]
struct Waiting {
    work: VecDeque<(u64, Work)>,
    /// The number of the next piece of work.
    next: u64,
    started: usize,
    busy: usize,
    limit: usize,
}

impl Waiting {
    fn position(&self, number: u64) -> Option<usize> {
        // The numbers are in order.
        let found = self.work.binary_search_by_key(&number, |(of, _)| *of);
        found.ok()
    }
}

/// What happens to work in the queue after the front's thread has looked for other events.
enum Turn {
    /// A thread has begun it.
    Begun,
    /// The front's thread does it.
    TakenBack(Work),
    /// It stays for the next free thread, because the front's thread does a later piece.
    Waits,
}

/// A piece of work in the queue. Dropping it takes the work back.
struct Offered<R> {
    queue: Arc<Queue>,
    number: u64,
    /// Whether an idle thread will take the work at once.
    is_expected: bool,
    done: oneshot::Receiver<thread::Result<R>>,
}

impl ComputeThreads {
    /// Allows `limit` threads. Starts none of them yet.
    pub fn new(limit: usize) -> ComputeThreads {
        let threads = ComputeThreads {
            limit: Cell::default(),
            queue: Arc::default(),
        };
        threads.allow(limit);
        threads
    }

    /// Changes the number of threads that may run work at once.
    pub fn allow(&self, limit: usize) {
        self.limit.set(limit);
        self.queue.waiting().limit = limit;
        self.queue.changed.notify_all();
    }

    /// Returns whether any thread may run work.
    pub fn are_allowed(&self) -> bool {
        self.limit.get() > 0
    }

    /// Runs `work` on a thread, or on the calling thread if all threads are busy.
    ///
    /// # Errors
    ///
    /// `work` has panicked.
    pub async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> io::Result<R> {
        if !self.are_allowed() {
            return Ok(work());
        }
        let offered = self.queue.offer(work);
        if let Some(work) = offered.not_begun().await {
            work()();
        }
        offered.done().await
    }

    /// Runs `work` on a thread, or returns `None` if all threads are busy. Dropping the future does
    /// not stop work that has begun.
    ///
    /// # Errors
    ///
    /// `work` has panicked.
    pub async fn run_elsewhere<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> io::Result<Option<R>> {
        if !self.are_allowed() {
            return Ok(None);
        }
        let offered = self.queue.offer(work);
        match offered.not_begun().await {
            Some(_) => Ok(None),
            None => offered.done().await.map(Some),
        }
    }
}

impl Drop for ComputeThreads {
    /// Ends the threads that are idle.
    fn drop(&mut self) {
        self.queue.waiting().started = 0;
        self.queue.changed.notify_all();
    }
}

impl<R> Offered<R> {
    /// Waits until a thread has begun the work, or takes the work back because the front's thread
    /// has looked for other events and has nothing else to compute.
    async fn not_begun(&self) -> Option<Work> {
        if self.is_expected {
            return None;
        }
        loop {
            tokio::task::yield_now().await;
            match self.queue.turn(self.number) {
                Turn::Begun => return None,
                Turn::TakenBack(work) => return Some(work),
                Turn::Waits => {}
            }
        }
    }

    async fn done(mut self) -> io::Result<R> {
        let done = (&mut self.done).await.map_err(io::Error::other)?;
        done.map_err(|panic| io::Error::other(text_of(panic.as_ref())))
    }
}

impl<R> Drop for Offered<R> {
    fn drop(&mut self) {
        drop(self.queue.take_back(self.number));
    }
}

impl Queue {
    /// Nothing panics while the lock is held, so a poisoned lock still holds a good queue.
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn offer<R: Send + 'static>(
        self: &Arc<Queue>,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Offered<R> {
        let (tell, done) = oneshot::channel();
        let work = Box::new(move || {
            let result = catch_unwind(AssertUnwindSafe(work));
            let tell = move || drop(tell.send(result));
            Box::new(tell) as Tell
        });
        let mut waiting = self.waiting();
        let number = waiting.next;
        waiting.next += 1;
        waiting.work.push_back((number, work));
        let needed = waiting.busy + waiting.work.len();
        if needed > waiting.started && waiting.started < waiting.limit {
            let started = self.start_thread(waiting.started + 1);
            waiting.started += usize::from(started.is_ok());
        }
        let is_expected = needed <= waiting.started.min(waiting.limit);
        drop(waiting);
        self.changed.notify_one();
        Offered {
            queue: self.clone(),
            number,
            is_expected,
            done,
        }
    }

    /// Decides about work that no thread expects to begin at once.
    fn turn(&self, number: u64) -> Turn {
        let mut waiting = self.waiting();
        let Some(at) = waiting.position(number) else {
            return Turn::Begun;
        };
        // An idle thread is about to take one piece, and has the next one kept.
        let threads = waiting.started.min(waiting.limit);
        let kept = (2 * threads).saturating_sub(waiting.busy);
        if at < kept && kept < waiting.work.len() {
            return Turn::Waits;
        }
        let taken = waiting.work.remove(at);
        taken.map_or(Turn::Begun, |(_, work)| Turn::TakenBack(work))
    }

    fn take_back(&self, number: u64) -> Option<Work> {
        let mut waiting = self.waiting();
        let at = waiting.position(number)?;
        waiting.work.remove(at).map(|(_, work)| work)
    }

    fn start_thread(self: &Arc<Queue>, number: usize) -> io::Result<()> {
        let queue = self.clone();
        let thread = thread::Builder::new().name(format!("compute-{number}"));
        thread.spawn(move || queue.serve()).map(drop)
    }

    /// Runs work until the [`ComputeThreads`] are dropped.
    fn serve(&self) {
        let mut waiting = self.waiting();
        while waiting.started > 0 {
            let may_begin = waiting.busy < waiting.limit;
            let next = may_begin.then(|| waiting.work.pop_front()).flatten();
            let Some((_, work)) = next else {
                let changed = self.changed.wait(waiting);
                waiting = changed.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            waiting.busy += 1;
            drop(waiting);
            let tell = work();
            // The thread must be free before the front can offer work again.
            self.waiting().busy -= 1;
            tell();
            waiting = self.waiting();
        }
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
    use std::sync::mpsc::{channel, Receiver, Sender};
    use std::sync::Barrier;
    use std::thread::current;

    /// Work that runs until its sender is dropped.
    fn blocked() -> (Sender<()>, impl FnOnce() -> thread::ThreadId + Send) {
        let (free, wait): (Sender<()>, Receiver<()>) = channel();
        (free, move || {
            let _ = wait.recv();
            current().id()
        })
    }

    #[tokio::test]
    async fn work_runs_on_another_thread_until_all_are_busy() {
        let threads = ComputeThreads::new(1);
        let here = current().id();
        let (free, first) = blocked();
        let second = async {
            let at = threads.run(|| current().id()).await.expect("no panic");
            assert_eq!(at, here, "no thread is free, so the caller does the work");
            let at = threads.run_elsewhere(|| current().id()).await;
            assert!(at.expect("no panic").is_none(), "no thread is free");
            drop(free);
        };
        let (first, ()) = tokio::join!(threads.run(first), second);
        assert_ne!(first.expect("no panic"), here);
        let at = threads.run(|| current().id()).await.expect("no panic");
        assert_ne!(at, here, "the thread is free again");
    }

    #[tokio::test]
    async fn a_thread_that_becomes_free_takes_the_work_that_waits() {
        let threads = ComputeThreads::new(1);
        let here = current().id();
        let (free, first) = blocked();
        let second = threads.queue.offer(|| current().id());
        // The queue was empty, so the thread is about to take the work.
        assert!(second.is_expected);
        assert_ne!(second.done().await.expect("no panic"), here);
        let (first, third) = (
            threads.queue.offer(first),
            threads.queue.offer(|| current().id()),
        );
        assert!(first.is_expected && !third.is_expected);
        drop(free);
        assert_ne!(third.done().await.expect("no panic"), here);
    }

    #[tokio::test]
    async fn the_oldest_work_stays_for_a_thread_while_the_caller_does_the_newer() {
        let threads = ComputeThreads::new(1);
        let here = current().id();
        let (free, first) = blocked();
        let oldest = async {
            let at = threads.run(|| current().id()).await.expect("no panic");
            assert_ne!(at, here, "the thread does the work when it is free");
        };
        let queue = threads.queue.clone();
        let newest = threads.run(move || {
            drop(free);
            // The thread takes the oldest work while this one is under way.
            let begun = std::time::Instant::now();
            while !queue.waiting().work.is_empty() {
                assert!(begun.elapsed().as_secs() < 60, "the oldest work waits");
                thread::yield_now();
            }
            current().id()
        });
        let (first, (), newest) = tokio::join!(threads.run(first), oldest, newest);
        assert_ne!(first.expect("no panic"), here);
        assert_eq!(newest.expect("no panic"), here);
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
        let at = threads.run(|| current().id()).await.expect("no panic");
        assert_eq!(at, current().id(), "none is allowed any more");
        threads.allow(1);
        let at = threads.run(|| current().id()).await.expect("no panic");
        assert_ne!(at, current().id());
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
    async fn work_of_a_dropped_future_is_not_begun() {
        let threads = ComputeThreads::new(1);
        let (free, first) = blocked();
        let first = threads.queue.offer(first);
        drop(threads.queue.offer(|| panic!("nobody waits for this work")));
        assert!(threads.queue.waiting().work.len() <= 1);
        drop(free);
        first.done().await.expect("no panic");
    }
}

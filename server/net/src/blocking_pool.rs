//! Runs blocking work on threads. A fixed number of tasks run at a time. The other tasks wait in
//! order.

use std::io;
use std::sync::Arc;
use tokio::sync::Semaphore;

#[derive(Debug)]
pub struct BlockingPool {
    free: Arc<Semaphore>,
}

impl BlockingPool {
    pub fn new(count: usize) -> BlockingPool {
        BlockingPool {
            free: Arc::new(Semaphore::new(count)),
        }
    }

    /// Runs `work` on a thread when its turn comes. If the future is dropped before that, `work`
    /// never runs.
    ///
    /// # Errors
    ///
    /// The error of `work`, or of the runtime at its end.
    pub async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<R> + Send + 'static,
    ) -> io::Result<R> {
        let hand = self.free.clone().acquire_owned().await;
        let hand = hand.map_err(io::Error::other)?;
        let work = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(hand);
            done
        });
        work.await.map_err(io::Error::other)?
    }

    /// Runs `work` on a thread if a thread is free, and drops `work` otherwise. The result of
    /// `work` is ignored.
    pub fn run_if_free(&self, work: impl FnOnce() + Send + 'static) {
        let Ok(hand) = self.free.clone().try_acquire_owned() else {
            return;
        };
        drop(tokio::task::spawn_blocking(move || {
            work();
            drop(hand);
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;
    use std::sync::{mpsc, Mutex};
    use tokio::sync::mpsc::unbounded_channel;
    use tokio::task::{spawn_local, yield_now, LocalSet};

    #[tokio::test]
    async fn a_fixed_number_of_tasks_run_at_a_time_and_all_are_done() {
        const HANDS: usize = 4;
        const WORKS: usize = 20;
        let hands = Rc::new(BlockingPool::new(HANDS));
        let (begin, mut begun) = unbounded_channel();
        let (end, may_end) = mpsc::channel::<()>();
        let may_end = Arc::new(Mutex::new(may_end));
        let all = async {
            let works = (0..WORKS).map(|number| {
                let (hands, begin, may_end) = (hands.clone(), begin.clone(), may_end.clone());
                spawn_local(async move {
                    let work = move || {
                        let _ = begin.send(number);
                        let told = may_end.lock().map(|told| told.recv());
                        Ok(told.is_ok_and(|told| told.is_ok()))
                    };
                    hands.run(work).await
                })
            });
            let works: Vec<_> = works.collect();
            yield_now().await; // now each task has called `run`
            for _ in 0..HANDS {
                begun.recv().await.expect("a work begins");
            }
            hands.run_if_free(|| panic!("no hand is free"));
            for _ in HANDS..WORKS {
                assert!(begun.try_recv().is_err(), "more than {HANDS} at a time");
                end.send(()).expect("somebody waits");
                begun.recv().await.expect("the next one begins");
            }
            (0..HANDS).for_each(|_| end.send(()).expect("somebody waits"));
            for work in works {
                assert!(work.await.expect("no panic").expect("done"));
            }
        };
        LocalSet::new().run_until(all).await;
    }
}

//! Threads for work that would keep the loop: so much of it is under way at a time, the rest waits for its turn.

use std::io;
use std::sync::Arc;
use tokio::sync::Semaphore;

#[derive(Debug)]
pub struct Hands {
    free: Arc<Semaphore>,
}

impl Hands {
    pub fn new(count: usize) -> Hands {
        Hands {
            free: Arc::new(Semaphore::new(count)),
        }
    }

    /// Has the work done by a thread once it is its turn. Who goes meanwhile takes his place in the queue along.
    pub async fn lend<R: Send + 'static>(
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

    /// The same, if nobody has to wait for that; what comes of it is nobody's concern.
    pub fn lend_if_free(&self, work: impl FnOnce() + Send + 'static) {
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
    async fn so_much_is_under_way_at_a_time_and_all_gets_done() {
        const HANDS: usize = 4;
        const WORKS: usize = 20;
        let hands = Rc::new(Hands::new(HANDS));
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
                    hands.lend(work).await
                })
            });
            let works: Vec<_> = works.collect();
            yield_now().await; // each has asked
            for _ in 0..HANDS {
                begun.recv().await.expect("a work begins");
            }
            hands.lend_if_free(|| panic!("no hand is free"));
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

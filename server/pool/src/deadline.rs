//! Time limits of requests: the take-back timer, the limits themselves, and the regular round.

use crate::call::Fault;
use crate::dispatch::{BAD_POSITION, SLOW};
use crate::inner::{Inner, Pool};
use crate::measure::PAUSE;
use crate::timer::Timer;
use crate::worker::origin;
use mehari_config::LogLevel;
use std::time::{Duration, Instant};

/// The time between the signal that makes a worker write its stack and the signal that kills it.
const LAST_WORDS: Duration = Duration::from_millis(60);
/// The interval of the round that checks deadlines and the number of workers.
const ROUND: Duration = Duration::from_millis(50);
/// The interval of the round while the pool rests. A request ends the rest at once.
const RESTING_ROUND: Duration = Duration::from_secs(4);
/// The interval at which the workers' private memory is measured.
const MEASURE: Duration = Duration::from_secs(60);
/// The time from the start of a worker, or from the end of the last one, to the look at the memory.
const FIRST_LOOK: Duration = Duration::from_secs(1);

impl Pool {
    /// Takes requests back from workers that become slow while the front sleeps. Runs as a task of
    /// the front.
    pub async fn watch_depth(self, timer: Timer) {
        let deepened = self.borrow().deepened.clone();
        loop {
            deepened.notified().await;
            while let Some(left) = self.time_until_slow() {
                if timer.pause(left).await.is_err() {
                    tokio::time::sleep(SLOW).await;
                }
                let mut inner = self.borrow();
                // A worker that has finished in the meantime is not slow.
                inner.scan();
                inner.rebalance_if_deep();
            }
        }
    }

    /// The time until the first worker with waiting requests becomes slow. `None`: no request waits
    /// in a mailbox.
    fn time_until_slow(&self) -> Option<Duration> {
        let now = Instant::now();
        let inner = self.borrow();
        let deep = inner.holding().filter(|(_, worker)| worker.depth() > 1);
        let oldest = deep.map(|(_, worker)| worker.head_age(now)).max()?;
        // A worker that has already taken its requests cannot give them back. The pause prevents a
        // busy loop.
        Some(SLOW.saturating_sub(oldest).max(SLOW / 4))
    }

    /// Measures the workers' memory regularly, soon after a worker has started, and after the last
    /// one has ended. Runs as a task of the front.
    pub async fn measure_memory(self) {
        let workers_changed = self.borrow().workers_changed.clone();
        let mut measured = Instant::now();
        loop {
            let pause = if self.borrow().limits_memory() {
                PAUSE
            } else {
                MEASURE
            };
            let changed = tokio::time::timeout(pause, workers_changed.notified()).await;
            if changed.is_ok() {
                tokio::time::sleep(FIRST_LOOK).await;
            }
            if measured.elapsed() >= MEASURE {
                measured = Instant::now();
                self.measure().await;
            } else if changed.is_ok() || self.borrow().has_served_since_look() {
                self.look_at_memory().await;
            }
        }
    }

    /// Enforces time limits, the queue's limit and the number of workers. Runs as a task of the
    /// front.
    pub async fn enforce_limits(self) {
        let request_arrived = self.borrow().request_arrived.clone();
        loop {
            let may_rest = {
                let now = Instant::now();
                let mut inner = self.borrow();
                inner.expire_queues(now);
                inner.enforce_timeouts(now);
                inner.replace_overdue(now);
                inner.note_overdue_calls(now);
                inner.adjust_workers(now) && !inner.has_requests() && !inner.is_overloaded()
            };
            if may_rest {
                self.borrow().is_resting = true;
                let arrival = request_arrived.notified();
                let round = self.borrow().resting_round();
                let is_over = tokio::time::timeout(round, arrival).await.is_err();
                self.borrow().is_resting = false;
                if is_over {
                    continue;
                }
            }
            tokio::time::sleep(ROUND).await;
        }
    }
}

impl Inner {
    /// Returns the time to the next round while the pool rests. A worker that waits for a request
    /// ends soon after its `WorkerIdleTimeout`.
    fn resting_round(&self) -> Duration {
        let teams = self.teams.iter().filter(|team| !team.idle.is_empty());
        let limits = teams.filter_map(|team| team.policy.limits.idle);
        let shortest = limits.map(|limit| limit.time).min();
        shortest.map_or(RESTING_ROUND, |time| time.min(RESTING_ROUND))
    }

    /// Ends the rest of [`Pool::enforce_limits`] if a request has arrived. Called before the
    /// runtime parks.
    pub fn end_rest(&mut self) {
        if self.is_resting && self.has_requests() {
            self.is_resting = false;
            self.request_arrived.notify_one();
        }
    }

    /// Whether a worker holds a request, or a request waits for a worker.
    fn has_requests(&self) -> bool {
        self.holding.len() > 0 || self.is_anything_queued()
    }

    /// Whether a request waits in a mailbox behind another request.
    fn is_deep(&self) -> bool {
        self.holding().any(|(_, worker)| worker.depth() > 1)
    }

    pub fn rebalance_if_deep(&mut self) {
        if self.is_deep() || self.is_anything_queued() {
            self.rebalance();
        }
    }

    fn enforce_timeouts(&mut self, now: Instant) {
        for index in 0..self.workers.len() {
            let Some(worker) = self.workers[index].as_ref() else {
                continue;
            };
            let Some(held) = worker.held.front() else {
                continue;
            };
            // The front reads now whether the worker has started the request, so the worker cannot
            // deny the start later.
            if worker.mailbox.waiting().is_err() {
                self.kill_broken(index, BAD_POSITION);
                continue;
            }
            // The time in which a worker waits for a slow client does not count.
            let waits = {
                let arrived = held.owed.arrived();
                let left = |left| now.saturating_duration_since(left) > ROUND;
                arrived.body.len() >= crate::deliver::BODY_AHEAD
                    || arrived.tap_left.is_some_and(left)
            };
            let (limit, ran) = (
                held.timeout,
                worker.head_age(now).saturating_sub(worker.waited),
            );
            if waits {
                self.worker(index)
                    .into_iter()
                    .for_each(|worker| worker.waited += ROUND);
                continue;
            }
            match worker.warned {
                None if ran > limit.hard => self.ask_for_stack(index, now),
                Some(since) if now.saturating_duration_since(since) > LAST_WORDS => {
                    self.kill_overdue(index)
                }
                None if !worker.told_slow && limit.soft.is_some_and(|soft| ran > soft) => {
                    self.note_slow(index)
                }
                _ => {}
            }
        }
    }

    /// Makes the worker write its Perl stack. The requests behind the slow one move to other
    /// workers at once.
    fn ask_for_stack(&mut self, index: usize, now: Instant) {
        self.take_back_all(index);
        if let Some(worker) = self.worker(index) {
            worker.warned = Some(now);
            worker.signal(libc::SIGRTMAX() - 3);
        }
    }

    /// Makes the worker write its Perl stack and go on.
    fn note_slow(&mut self, index: usize) {
        let Some(worker) = self.workers[index].as_mut() else {
            return;
        };
        worker.told_slow = true;
        worker.signal(libc::SIGRTMAX() - 2);
        let Some(held) = worker.held.front() else {
            return;
        };
        let limit = held.timeout.soft.unwrap_or_default().as_secs_f64();
        let line = format_args!("the request runs for longer than {limit} s (SlowRequestTime)");
        let origin = origin(held, worker.pid);
        self.log.log(LogLevel::Warn, origin, line);
    }

    fn kill_overdue(&mut self, index: usize) {
        let is_deferred = self.note_overdue_call(index);
        let Some(worker) = self.workers[index].as_mut() else {
            return;
        };
        let Some(held) = worker.held.front() else {
            return;
        };
        let (pid, limit) = (worker.pid, held.timeout.hard);
        let origin = origin(held, pid);
        held.owed.arrived().fail(Fault::TimedOut);
        worker.killed = true;
        worker.kill();
        let (what, directive) = if is_deferred {
            ("deferred call", "DeferredCallTimeout")
        } else {
            ("request", "Timeout")
        };
        self.totals.timed_out += u64::from(!is_deferred);
        self.log.log(
            LogLevel::Error,
            origin,
            format_args!(
                "the {what} ran longer than {} s ({directive}): its worker is killed",
                limit.as_secs_f64()
            ),
        );
        self.worker_ended(index);
    }
}

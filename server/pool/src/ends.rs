//! What the end of a worker means for the requests it held: the one it had begun fails, the others go to somebody else.

use crate::call::Fault;
use crate::inner::Inner;
use crate::worker::{origin, Held, State, Worker};
use mehari_config::LogLevel;
use mehari_observe::Origin;
use std::time::Instant;

/// Workers that may die with a request that was the first of theirs and, by what their mailboxes say, not begun.
const DEATHS_MOST: u8 = 1;

impl Inner {
    /// Called for a process that has ended, however that came to be known; once is enough.
    pub fn worker_ended(&mut self, index: usize) {
        self.worker_ended_with(index, Fault::WorkerDied);
    }

    fn worker_ended_with(&mut self, index: usize, fault: Fault) {
        let puts_back = self.bury(index, fault);
        // Workers die together, of one signal to all: what is put back must not go to one whose end is only not heard of
        // yet.
        if puts_back {
            for index in 0..self.workers.len() {
                let worker = self.workers[index].as_ref();
                if worker.is_some_and(|worker| worker.is_serving() && worker.is_gone()) {
                    self.bury(index, fault);
                }
            }
        }
        self.drop_ended_generations();
        self.keep_workers(Instant::now());
        self.feed();
    }

    /// True: requests it had not begun wait for somebody else.
    fn bury(&mut self, index: usize, fault: Fault) -> bool {
        // What it wrote before its end counts, unless it wrote what cannot be: that is never read again.
        if self.worker(index).is_some_and(|worker| !worker.killed) {
            self.drain_worker(index);
        }
        let Some(mut worker) = self.workers.get_mut(index).and_then(Option::take) else {
            return false;
        };
        self.holding.remove(index);
        self.rewound.forget(worker.pid);
        self.is_idle_no_more(worker.team, index);
        let current = self.current;
        // What it has begun it says itself; where it says what cannot be, none of its requests may run again.
        let waiting = worker.mailbox.waiting().unwrap_or(0) as usize;
        // Who has answered has begun, whose request the scoreboard shows, and for whose request it was killed.
        let (_, shown, _) = worker.mailbox.scoreboard();
        let first = worker.held.front();
        let answers = first.is_some_and(|held| held.has_begun() || held.request_id == shown);
        let begun = worker.held.len().saturating_sub(waiting);
        let begun = begun.max(usize::from(answers || worker.killed));
        let unstarted = worker.held.split_off(begun.min(worker.held.len()));
        if worker.state == State::Serving && worker.served == 0 && worker.held.is_empty() {
            if worker.generation > current {
                // A generation that is loading does not wait for it.
                self.failed_to_start(worker.generation, worker.team)
            } else {
                self.started_falsely(worker.team)
            }
        }
        if worker.state == State::Serving || !worker.held.is_empty() {
            self.totals.workers_died += 1;
            worker.kill();
        }
        for held in worker.held.drain(..) {
            if !held.ended {
                self.log.log(
                    LogLevel::Error,
                    origin(&held, worker.pid),
                    format_args!("the worker died during the request"),
                );
            }
            held.owed.fail(fault);
        }
        let puts_back = !unstarted.is_empty();
        for (place, held) in unstarted.into_iter().enumerate().rev() {
            // What stands behind another one has not begun: only the first has nothing but the worker's word.
            self.requeue(&mut worker, held, begun + place == 0);
        }
        puts_back
    }

    /// A request its dead worker never began goes to the front of the queue.
    fn requeue(&mut self, worker: &mut Worker, mut held: Held, was_first: bool) {
        let has_had_its_chance = was_first && held.tries.deaths >= DEATHS_MOST;
        if has_had_its_chance || worker.mailbox.take_back() != Ok(true) {
            return;
        }
        held.tries.deaths += u8::from(was_first);
        held.tries.handed_back += 1;
        let frame = worker.mailbox.taken_back_slot()[..held.frame_length].to_vec();
        self.put_back(worker.team, held, frame);
    }

    pub fn report_end(&mut self, pid: u32, status: i32) {
        let index = self.index_of(pid);
        let expected = index
            .and_then(|index| self.worker(index))
            .is_some_and(|worker| worker.state == State::Retiring);
        let (signal, code) = (status & 0x7f, status >> 8 & 0xff);
        let origin = Origin {
            worker: Some(pid),
            ..Origin::default()
        };
        match (signal, code, expected || index.is_none()) {
            (0, 0, true) => {}
            (0, code, _) => self.log.log(
                LogLevel::Warn,
                origin,
                format_args!("worker {pid} ended with status {code}"),
            ),
            (signal, _, _) => self.log.log(
                LogLevel::Error,
                origin,
                format_args!("worker {pid} was ended by signal {signal}"),
            ),
        }
        if let Some(index) = index {
            let fault = if signal == 0 {
                Fault::WorkerDied
            } else {
                Fault::WorkerKilled(signal)
            };
            self.worker_ended_with(index, fault);
        }
    }
}

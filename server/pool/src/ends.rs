//! The end of a worker: the request that it had started fails, and its other requests move to other
//! workers.

use crate::call::Fault;
use crate::inner::Inner;
use crate::worker::{origin, HeldRequest, Worker, WorkerState};
use mehari_config::LogLevel;
use mehari_observe::Origin;
use std::time::Instant;

/// How many workers may die while a request is their first and their mailboxes say that they have
/// not started this request.
const DEATHS_MOST: u8 = 1;

impl Inner {
    /// Handles the end of a worker's process, however it became known. A second call has no effect.
    pub fn worker_ended(&mut self, index: usize) {
        self.worker_ended_with(index, Fault::WorkerDied);
    }

    fn worker_ended_with(&mut self, index: usize, fault: Fault) {
        let puts_back = self.remove_ended(index, fault);
        // One signal may kill many workers at once. A request must not move to a worker whose end
        // is not reported yet.
        if puts_back {
            for index in 0..self.workers.len() {
                let worker = self.workers[index].as_ref();
                if worker.is_some_and(|worker| worker.is_serving() && worker.is_gone()) {
                    self.remove_ended(index, fault);
                }
            }
        }
        self.drop_ended_generations();
        self.adjust_workers(Instant::now());
        self.feed();
    }

    /// Removes an ended worker. Returns true if requests that it had not started wait for another
    /// worker.
    fn remove_ended(&mut self, index: usize, fault: Fault) -> bool {
        let took_back = self.read_last_records(index);
        let Some(mut worker) = self.workers.get_mut(index).and_then(Option::take) else {
            return took_back;
        };
        if self.workers.iter().all(Option::is_none) {
            self.workers_changed.notify_one();
        }
        self.holding.remove(index);
        self.rewound.forget(worker.pid);
        self.remove_from_idle(worker.team, index);
        // The worker's mailbox says how many requests the worker has started. If the mailbox's
        // position is impossible, none of the requests may run again.
        let waiting = worker.mailbox.waiting().unwrap_or(0) as usize;
        // A request has started if it has records, if the scoreboard shows it, or if the front
        // killed the worker because of it.
        let (_, shown, _) = worker.mailbox.scoreboard();
        let first = worker.held.front();
        let answers = first.is_some_and(|held| held.has_begun() || held.request_id == shown);
        let begun = worker.held.len().saturating_sub(waiting);
        let begun = begun.max(usize::from(answers || worker.killed));
        let unstarted = worker.held.split_off(begun.min(worker.held.len()));
        if worker.state == WorkerState::Serving && worker.served == 0 && worker.held.is_empty() {
            if self.is_loading(worker.generation) {
                // A loading generation does not wait for this worker.
                self.failed_to_start(worker.generation, worker.perl)
            } else if !worker.has_waited() {
                self.note_false_start(worker.team)
            }
        }
        if worker.state == WorkerState::Serving || !worker.held.is_empty() {
            self.totals.workers_died += 1;
            worker.kill();
        }
        for mut held in worker.held.drain(..) {
            let deferring = std::mem::take(&mut held.deferring);
            self.release_deferred(worker.team, worker.pid, deferring);
            if !held.ended {
                self.log.log(
                    LogLevel::Error,
                    origin(&held, worker.pid),
                    format_args!("the worker died during the request"),
                );
            }
            held.owed.fail(fault);
        }
        let puts_back = took_back || !unstarted.is_empty();
        for (place, held) in unstarted.into_iter().enumerate().rev() {
            // A request behind another one has certainly not started. For the first request the
            // mailbox is the only evidence.
            self.requeue(&mut worker, held, begun + place == 0);
        }
        puts_back
    }

    /// Reads the records that an ended worker has left behind. The worker's process for a script
    /// may live a moment longer and take requests from the mailbox, so the requests behind the
    /// first are taken back before. Returns true if there were any.
    fn read_last_records(&mut self, index: usize) -> bool {
        // A killed worker's ring may be invalid, and its processes are dead.
        let Some(worker) = self.worker(index).filter(|worker| !worker.killed) else {
            return false;
        };
        let held = worker.held.len();
        // While the records are read, this worker gets no request.
        let state = std::mem::replace(&mut worker.state, WorkerState::Retiring);
        self.take_back_all(index);
        let left = self.worker(index).map_or(0, |worker| worker.held.len());
        self.drain_worker(index);
        if let Some(worker) = self.worker(index) {
            worker.state = state;
        }
        left < held
    }

    /// Puts a request that its dead worker never started at the front of the queue.
    fn requeue(&mut self, worker: &mut Worker, mut held: HeldRequest, was_first: bool) {
        let has_had_its_chance = was_first && held.tries.deaths >= DEATHS_MOST;
        if has_had_its_chance || worker.mailbox.take_back() != Ok(true) {
            return;
        }
        held.tries.deaths += u8::from(was_first);
        held.tries.put_back += 1;
        let frame = worker.mailbox.taken_back_slot()[..held.frame_length].to_vec();
        self.put_back(worker.team, held, frame);
    }

    pub fn report_end(&mut self, pid: u32, status: i32) {
        let index = self.index_of(pid);
        let expected = index
            .and_then(|index| self.worker(index))
            .is_some_and(|worker| worker.state == WorkerState::Retiring);
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

//! Chooses the worker for a request. If all cores are busy, the request goes to a worker that is
//! awake; otherwise to the idle worker used last, then to the shortest mailbox, then to the queue.
//! The pool takes back a request that has not started when its worker is slow or another worker is
//! idle.

use crate::arrived::{self, Owed};
use crate::call::{Body, Call, Fault};
use crate::deferral::Deferring;
use crate::frame::{encode, is_sound};
use crate::inner::Inner;
use crate::queued::Queued;
use crate::script::Script;
use crate::worker::{HeldRequest, Tries, Worker};
use mehari_wire::layout::SLOT_SIZE;
use rustix::fd::OwnedFd;
use std::time::{Duration, Instant};

/// A worker whose request runs longer than this is slow: it gets no further request, and gives back
/// the requests that it has not started.
pub const SLOW: Duration = Duration::from_micros(200);

/// A request may return to the queue at most this many times plus the number of workers. There is a
/// limit because only a worker or its mailbox says that the request was not started. The number of
/// workers is added because each worker may have lost its zygote.
const HANDED_BACK_MOST: usize = 16;

/// The words of the log for an impossible position in a worker's mailbox.
pub const BAD_POSITION: &str = "an impossible position";

impl Inner {
    /// Gives the request to a worker or the queue, or refuses it.
    pub fn admit(&mut self, owed: Owed, call: Call<'_>) {
        if self.stopping {
            return self.refuse(owed, Fault::Stopping);
        }
        if self.current == 0 {
            return self.refuse(owed, Fault::NotReady);
        }
        let now = Instant::now();
        let team = self.team_of(call.team);
        let waiting = self.teams[team].queue.len();
        let target = match waiting {
            0 => self.pick(team, Script::of(&call.task), Duration::ZERO, now),
            _ => None,
        };
        match target {
            Some(index) => self.place_call(index, owed, call, now),
            None => match self.queue_fault(team, now) {
                Some(fault) => self.refuse(owed, fault),
                None => self.enqueue(team, owed, call),
            },
        }
    }

    fn enqueue(&mut self, team: usize, owed: Owed, mut call: Call<'_>) {
        let length = crate::frame::size(&call);
        if length > SLOT_SIZE {
            return self.refuse(owed, Fault::TooLarge);
        }
        let mut frame = self.spare_frames.pop().unwrap_or_default();
        frame.resize(length, 0);
        if encode(&call, &mut frame).is_err() {
            return self.refuse(owed, Fault::TooLarge);
        }
        self.totals.queued += 1;
        self.teams[team].queue.push_back(Queued {
            owed,
            request_id: call.request_id,
            host: call.server.into(),
            script: Script::of(&call.task),
            frame,
            body_file: take_file(&mut call),
            timeout: call.timeout,
            log_level: call.log_level,
            tries: Tries::default(),
        });
        self.end_rest_of_team(team);
    }

    pub fn place_call(&mut self, index: usize, owed: Owed, mut call: Call<'_>, now: Instant) {
        let Some(worker) = self.worker(index) else {
            return self.refuse(owed, Fault::NotReady);
        };
        let Ok(frame_length) = encode(&call, worker.mailbox.next_slot()) else {
            self.return_to_idle(index);
            return self.refuse(owed, Fault::TooLarge);
        };
        let held = HeldRequest {
            owed,
            request_id: call.request_id,
            host: call.server.into(),
            script: Script::of(&call.task),
            frame_length,
            body_file: take_file(&mut call),
            timeout: call.timeout,
            log_level: call.log_level,
            tries: Tries::default(),
            ended: false,
            head_seen: false,
            tapped: false,
            fetched: false,
            has_open_question: false,
            deferring: Deferring::default(),
        };
        self.submit_held(index, held, now);
    }

    fn submit_held(&mut self, index: usize, held: HeldRequest, now: Instant) {
        let Some(worker) = self.workers[index].as_mut() else {
            return;
        };
        if let Some(file) = &held.body_file {
            if worker.send_body_file(held.request_id, file).is_err() {
                self.return_to_idle(index);
                return;
            }
        }
        {
            let mut arrived = held.owed.arrived();
            arrived.worker = Some((index, worker.pid));
            arrived.queued = now.saturating_duration_since(arrived.submitted);
            if let Some(trace) = &arrived.trace {
                trace.note_worker(worker.pid);
            }
        }
        if worker.held.is_empty() {
            worker.head_since = now;
        }
        if worker.mailbox.submit().is_err() {
            // The frame was written a moment ago. No wake has told the worker to read the frame.
            let frame = worker.mailbox.next_slot()[..held.frame_length].to_vec();
            let team = worker.team;
            self.kill_broken(index, BAD_POSITION);
            self.put_back(team, held, frame);
            return;
        }
        if let Some(script) = held.script {
            worker.templates.note(script);
        }
        worker.held.push_back(held);
        worker.needs_wake = true;
        match worker.depth() {
            1 => self.holding.add(index),
            _ => self.deepened.notify_one(),
        }
    }

    /// Chooses the worker for the team's next request. An idle worker leaves the idle list.
    fn pick(
        &mut self,
        team: usize,
        script: Option<Script>,
        waited: Duration,
        now: Instant,
    ) -> Option<usize> {
        if let Some(script) = script {
            return self.pick_for(script, team, waited, now);
        }
        let idle = !self.teams[team].idle.is_empty();
        if idle && self.cores_are_busy() && self.teams[team].packing.may_pack() {
            if let Some(awake) = self.shortest(team, now, SLOW, |_| true) {
                self.teams[team].packing.packed();
                return Some(awake);
            }
        }
        self.pick_idle(team)
            .or_else(|| self.shortest(team, now, SLOW, |_| true))
    }

    pub fn pick_idle(&mut self, team: usize) -> Option<usize> {
        while let Some(index) = self.teams[team].idle.pop() {
            if let Some(worker) = self.worker(index) {
                worker.in_idle = false;
                if worker.is_serving() {
                    return Some(index);
                }
            }
        }
        None
    }

    /// Whether as many workers are awake as there are cores for them.
    pub fn cores_are_busy(&self) -> bool {
        self.holding.len() >= self.cores_for_workers
    }

    /// Returns the worker with the fewest requests among the team's awake workers whose first
    /// request has run for less than `limit`, and that have room and pass the test.
    pub fn shortest(
        &self,
        team: usize,
        now: Instant,
        limit: Duration,
        test: impl Fn(&Worker) -> bool,
    ) -> Option<usize> {
        let depth = self.teams[team].depth();
        let current = self.serving(team);
        self.holding()
            .filter(|(_, worker)| {
                worker.is_serving()
                    && worker.generation == current
                    && worker.team == team
                    && worker.depth() < depth
                    && !worker.waits_for_front()
            })
            .filter(|(_, worker)| worker.head_age(now) < limit && test(worker))
            .min_by_key(|(_, worker)| worker.depth())
            .map(|(index, _)| index)
    }

    fn return_to_idle(&mut self, index: usize) {
        let Some(team) = self.worker(index).map(|worker| worker.team) else {
            return;
        };
        let current = self.serving(team);
        if let Some(worker) = self.worker(index) {
            if worker.held.is_empty()
                && worker.is_serving()
                && worker.generation == current
                && !worker.in_idle
            {
                worker.in_idle = true;
                self.teams[team].idle.push(index);
                if !self.teams[team].deferred.is_empty() {
                    self.start_deferred(team);
                }
            }
        }
    }

    /// Gives the next waiting request to a worker that has room again. Without such a request the
    /// worker becomes idle.
    pub fn worker_is_free(&mut self, index: usize) {
        let now = Instant::now();
        let takes = |worker: &&Worker| {
            worker.is_serving() && worker.generation == self.serving(worker.team)
        };
        let worker = self.workers.get(index).and_then(Option::as_ref);
        let Some(worker) = worker.filter(takes) else {
            return;
        };
        let team = worker.team;
        if self.serves_overdue(index, team) {
            return;
        }
        if let Some(queued) = self.next_queued(team, Some(index), now) {
            self.place_queued(index, queued, now);
        } else {
            self.return_to_idle(index);
        }
    }

    fn place_queued(&mut self, index: usize, queued: Queued, now: Instant) {
        if let Some(worker) = self.worker(index) {
            worker.in_idle = false;
            worker.mailbox.next_slot()[..queued.frame.len()].copy_from_slice(&queued.frame);
        }
        let held = HeldRequest {
            owed: queued.owed,
            request_id: queued.request_id,
            host: queued.host,
            script: queued.script,
            frame_length: queued.frame.len(),
            body_file: queued.body_file,
            timeout: queued.timeout,
            log_level: queued.log_level,
            tries: queued.tries,
            ended: false,
            head_seen: false,
            tapped: false,
            fetched: false,
            has_open_question: false,
            deferring: Deferring::default(),
        };
        if self.spare_frames.len() < 64 && queued.frame.capacity() <= 16 * 1024 {
            self.spare_frames.push(queued.frame);
        }
        self.submit_held(index, held, now);
    }

    /// Gives queued requests to workers while any worker has room.
    pub fn feed(&mut self) {
        let now = Instant::now();
        for team in 0..self.teams.len() {
            while let Some((script, waited)) = self.next_script(team, now) {
                let Some(index) = self.pick(team, script, waited, now) else {
                    break;
                };
                match self.next_queued(team, None, now) {
                    Some(queued) => self.place_queued(index, queued, now),
                    None => self.return_to_idle(index),
                }
            }
        }
    }

    /// Takes back the requests that slow workers have not started. While a worker of the team is
    /// idle, this function also takes back the unstarted requests of the other workers, except
    /// packed requests.
    pub fn rebalance(&mut self) {
        let now = Instant::now();
        self.for_each_holding(|inner, index| inner.rebalance_one(index, now));
        self.feed();
    }

    fn rebalance_one(&mut self, index: usize, now: Instant) {
        let Some(worker) = self.workers[index].as_ref() else {
            return;
        };
        if worker.depth() < 2 {
            return;
        }
        let limit = self.limit_of(worker, now);
        let is_slow = worker.head_age(now) >= limit;
        // A worker that has not started its first request is waiting for a core. Another worker
        // would have to wait too.
        let has_begun = worker.has_begun();
        let Some(team) = self.teams.get_mut(worker.team) else {
            return;
        };
        if is_slow && has_begun {
            team.packing.note_taken_back();
        }
        let is_better_elsewhere = !team.idle.is_empty() && !team.packing.is_packing();
        if is_slow || (limit == SLOW && is_better_elsewhere) {
            self.take_back_all(index);
        }
    }

    /// Puts all requests that the worker has not started back at the front of the queue, in order.
    pub fn take_back_all(&mut self, index: usize) {
        loop {
            let Some(worker) = self.workers[index].as_mut() else {
                return;
            };
            // The worker may already have taken the first request.
            if worker.held.len() < 2 {
                return;
            }
            match worker.mailbox.take_back() {
                Ok(true) => {}
                Ok(false) => return,
                Err(_) => return self.kill_broken(index, BAD_POSITION),
            }
            let Some(held) = worker.held.pop_back() else {
                return;
            };
            let mut frame = self.spare_frames.pop().unwrap_or_default();
            frame.clear();
            frame.extend_from_slice(&worker.mailbox.taken_back_slot()[..held.frame_length]);
            self.totals.taken_back += 1;
            let team = worker.team;
            self.put_back(team, held, frame);
        }
    }

    /// Puts a request that was not started at the front of the queue, unless its client has gone.
    /// The worker could have changed the frame, so another worker gets only a frame that is still
    /// sound.
    pub fn put_back(&mut self, team: usize, held: HeldRequest, frame: Vec<u8>) {
        let is_sound = is_sound(&frame, held.request_id, held.body_file.as_ref());
        let most = HANDED_BACK_MOST + self.workers.len();
        if !is_sound || usize::from(held.tries.put_back) >= most {
            return held.owed.fail(Fault::WorkerDied);
        }
        if held.owed.arrived().gone {
            return;
        }
        // A warming zygote belongs to no team.
        let Some(team) = self.teams.get_mut(team) else {
            return held.owed.fail(Fault::WorkerDied);
        };
        held.owed.arrived().worker = None;
        team.queue.push_front(Queued {
            owed: held.owed,
            request_id: held.request_id,
            host: held.host,
            script: held.script,
            frame,
            body_file: held.body_file,
            timeout: held.timeout,
            log_level: held.log_level,
            tries: held.tries,
        });
    }

    /// Removes the request of a client that has gone, if the request is the last in its mailbox and
    /// has not started.
    pub fn forget_unstarted(&mut self, index: usize, exchange: &arrived::Shared) {
        let Some(worker) = self.worker(index) else {
            return;
        };
        let last = worker.held.back().filter(|_| worker.held.len() > 1);
        if !last.is_some_and(|held| held.owed.is_to(exchange)) {
            return;
        }
        match worker.mailbox.take_back() {
            Ok(true) => drop(worker.held.pop_back()),
            Ok(false) => {}
            Err(_) => self.kill_broken(index, BAD_POSITION),
        }
    }

    pub fn flush_wakes(&mut self) {
        self.for_each_holding(|inner, index| {
            if let Some(worker) = inner.worker(index).filter(|worker| worker.needs_wake) {
                worker.needs_wake = false;
                worker.mailbox.wake();
            }
        });
    }
}

fn take_file(call: &mut Call<'_>) -> Option<OwnedFd> {
    match std::mem::replace(&mut call.body, Body::Empty) {
        Body::File(file, _) => Some(file),
        _ => None,
    }
}

//! Takes requests out of a team's queue: for a worker, or because the team is overloaded, or
//! because they waited for too long.
//!
//! While a team is overloaded, the newest request is served first, because its client is the most
//! likely to wait still. A request that has waited for half the target goes before. The others that
//! wait, and new ones without room, get 503. `overload` decides.

use crate::affinity;
use crate::arrived::{Owed, Shared};
use crate::call::Fault;
use crate::dispatch::SLOW;
use crate::inner::Inner;
use crate::overload::OverloadEnd;
use crate::queued::Queued;
use crate::script::{Script, Templates};
use crate::team::{Of, Team};
use mehari_config::LogLevel;
use mehari_wire::layout::SLOTS;
use std::time::{Duration, Instant};

/// The shortest time between two log lines about the overload of a team.
const LOG_PAUSE: Duration = Duration::from_secs(60);

/// A team's load, for `mehari status`.
#[derive(Debug, Clone, serde::Serialize)]
pub struct LoadStatus {
    pub overloaded: bool,
    /// Milliseconds that a request may wait. `None`: without end, or no request has been measured.
    pub target_ms: Option<u64>,
    /// The average microseconds that a request takes in its worker.
    pub service_us: u64,
}

impl Team {
    pub fn queue_target(&self) -> Option<Duration> {
        let setting = self.policy.queue_target.unwrap_or_default();
        self.overload
            .target(setting, self.policy.longest_wait() / 2)
    }

    pub fn load(&self) -> LoadStatus {
        LoadStatus {
            overloaded: self.overload.is_current(),
            target_ms: self.queue_target().map(|time| time.as_millis() as u64),
            service_us: self.overload.service().as_micros() as u64,
        }
    }

    /// The most requests that a worker may hold. An overloaded team's requests wait in the queue,
    /// where they are counted, unless they are so short that a worker would have to wait for them.
    /// While a deferred call has waited for too long, requests wait in the queue, too, so that a
    /// worker becomes free for the call.
    pub fn depth(&self) -> usize {
        if self.has_overdue_call {
            return 1;
        }
        if self.overload.is_current() && self.overload.service() >= SLOW {
            return 1;
        }
        self.policy.depth.unwrap_or(SLOTS).clamp(1, SLOTS) as usize
    }

    /// The most requests that may wait while the team is overloaded. `None`: it is not.
    fn room(&self) -> Option<usize> {
        let target = self.queue_target().filter(|_| self.overload.is_current())?;
        Some(self.overload.room(self.plan.max, target))
    }

    /// Returns the place in the queue of the request that a worker gets next.
    /// `templates`: those of the worker.
    fn next_place(&self, templates: &Templates, now: Instant) -> Option<usize> {
        let newest = self.queue.len().checked_sub(1)?;
        let target = self.queue_target().filter(|_| self.overload.is_current());
        let Some(target) = target else {
            return Some(affinity::oldest_for(templates, &self.queue, now));
        };
        if self.queue[0].waited(now) > target / 2 {
            return Some(0);
        }
        Some(affinity::newest_for(templates, &self.queue).unwrap_or(newest))
    }
}

impl Inner {
    /// Refuses a request that came now.
    pub fn refuse(&mut self, owed: Owed, fault: Fault) {
        self.totals.refusals.count(fault);
        self.totals.refused += 1;
        owed.fail(fault);
    }

    fn refuse_queued(&mut self, queued: Queued, fault: Fault, now: Instant) {
        queued.owed.arrived().queued = queued.waited(now);
        self.refuse(queued.owed, fault);
    }

    /// Returns why a request may not join a team's queue.
    pub fn queue_fault(&mut self, team: usize, now: Instant) -> Option<Fault> {
        if let Some(fault) = self.crash_fault(team, now) {
            return Some(fault);
        }
        let team = &mut self.teams[team];
        let waiting = team.queue.len();
        if team.room().is_some_and(|room| waiting >= room) {
            return Some(Fault::Overloaded(team.overload.refuse(now)));
        }
        (waiting >= team.policy.longest_queue() as usize).then_some(Fault::QueueFull)
    }

    /// Takes the next request for the worker with this index. `None`: for any worker.
    pub fn next_queued(
        &mut self,
        team: usize,
        worker: Option<usize>,
        now: Instant,
    ) -> Option<Queued> {
        self.shed(team, now);
        let worker = worker.and_then(|index| self.workers.get(index)?.as_ref());
        let none = Templates::default();
        let templates = worker.map_or(&none, |worker| &worker.templates);
        let place = self.teams[team].next_place(templates, now)?;
        self.teams[team].queue.remove(place)
    }

    /// Returns the script of the request that a worker without a script would get next, and how
    /// long the request has waited.
    pub fn next_script(&self, team: usize, now: Instant) -> Option<(Option<Script>, Duration)> {
        let team = &self.teams[team];
        let place = team.next_place(&Templates::default(), now)?;
        let queued = &team.queue[place];
        Some((queued.script, queued.waited(now)))
    }

    /// Notes the oldest request's wait. In an overload, refuses the requests for which there is no
    /// room, and those that have waited for too long. The newest request stays, because a worker
    /// may be free soon.
    fn shed(&mut self, index: usize, now: Instant) {
        let team = &mut self.teams[index];
        let (Some(oldest), Some(target)) = (team.queue.front(), team.queue_target()) else {
            return;
        };
        let begins = team.overload.note_wait(oldest.waited(now), target, now);
        let Some(room) = team.room() else { return };
        if begins {
            self.log_begin(index, target);
        }
        while let Some(oldest) = self.teams[index].queue.front() {
            let waiting = self.teams[index].queue.len();
            if waiting <= room && (oldest.waited(now) <= target || waiting == 1) {
                return;
            }
            let after = self.teams[index].overload.refuse(now);
            if let Some(queued) = self.teams[index].queue.pop_front() {
                self.refuse_queued(queued, Fault::Overloaded(after), now);
            }
        }
    }

    /// Refuses requests that have waited too long, before they cost a worker. Called in each round.
    pub fn expire_queues(&mut self, now: Instant) {
        for team in 0..self.teams.len() {
            self.shed(team, now);
            if !self.teams[team].queue.is_empty() {
                self.refuse_crashed(team, now);
            }
            let limit = self.teams[team].policy.longest_wait();
            let queue = |inner: &Inner| inner.teams[team].queue.front().map(|it| it.waited(now));
            while queue(self).is_some_and(|waited| waited > limit) {
                if let Some(queued) = self.teams[team].queue.pop_front() {
                    self.refuse_queued(queued, Fault::QueueTimedOut, now);
                }
            }
            self.note_idle(team, now);
        }
    }

    /// Refuses the waiting requests of a team that is in a crash loop and has no worker.
    fn refuse_crashed(&mut self, team: usize, now: Instant) {
        let Some(fault) = self.crash_fault(team, now) else {
            return;
        };
        for queued in std::mem::take(&mut self.teams[team].queue) {
            self.refuse_queued(queued, fault, now);
        }
    }

    /// Removes a waiting request whose client has gone.
    pub fn forget_queued(&mut self, exchange: &Shared) {
        for team in &mut self.teams {
            let queue = &mut team.queue;
            queue.retain(|queued| !queued.owed.is_to(exchange));
        }
    }

    pub fn is_overloaded(&self) -> bool {
        self.teams.iter().any(|team| team.overload.is_current())
    }

    /// Notes whether a worker is idle. An empty queue does not say so, because busy workers may
    /// hold requests that they have not started.
    fn note_idle(&mut self, index: usize, now: Instant) {
        let team = &mut self.teams[index];
        let is_idle = team.queue.is_empty() && !team.idle.is_empty();
        if let Some(ended) = team.overload.note_idle(is_idle, now) {
            self.log_end(index, ended);
        }
    }

    fn log_begin(&self, team: usize, target: Duration) {
        let name = &self.teams[team].name;
        self.log.log_at_most_every(
            LOG_PAUSE,
            &format!("overload {name}"),
            LogLevel::Warn,
            format_args!(
                "the workers{} are overloaded: each request waits for longer than {} ms \
                 (WorkerQueueTarget); until a worker is idle, requests without room get 503",
                Of(name),
                target.as_millis()
            ),
        );
    }

    fn log_end(&self, team: usize, ended: OverloadEnd) {
        let name = &self.teams[team].name;
        self.log.log_at_most_every(
            LOG_PAUSE,
            &format!("overload's end {name}"),
            LogLevel::Notice,
            format_args!(
                "the overload{} is over after {:.1} s: {} requests got 503",
                Of(name),
                ended.lasted.as_secs_f64(),
                ended.refused
            ),
        );
    }
}

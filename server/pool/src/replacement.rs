//! Replaces workers that have reached a limit: `MaxConnectionsPerChild`, `MaxWorkerMemory` and its
//! relatives, `MaxWorkerLifetime`, or a wish of the worker's own code (`Apache2::SizeLimit`).
//!
//! The new worker is forked first. It takes the old worker's place (`roster::forked`), and the old
//! worker ends after its request. At most a quarter of a team is replaced at once.

use crate::inner::{Inner, Pool};
use crate::launcher::Launcher;
use crate::measure::memory_of;
use crate::memory::ProcessMemory;
use crate::team::Of;
use crate::worker::{Worker, WorkerState};
use crate::worn::Worn;
use mehari_observe::Origin;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A team is divided by this number. The result is how many of its workers are replaced at once.
const PART: usize = 4;

impl Worker {
    /// Returns the limit of requests or of time that the worker has reached.
    fn worn_at(&self, now: Instant) -> Option<Worn> {
        if self.limit.is_some_and(|limit| self.served >= limit) {
            return Some(Worn::Requests);
        }
        let age = || now.saturating_duration_since(self.started);
        let is_old = self.lifetime.is_some_and(|limit| age() >= limit);
        is_old.then_some(Worn::Lifetime)
    }
}

impl Inner {
    /// Plans the replacement of a worker that has reached a limit of requests or of time.
    pub fn replace_if_worn(&mut self, index: usize, now: Instant) {
        if let Some(worn) = self.worker(index).and_then(|worker| worker.worn_at(now)) {
            self.replace(index, worn);
        }
    }

    /// Plans the replacement of a worker. A second call has no effect.
    pub fn replace(&mut self, index: usize, worn: Worn) {
        let Some(team) = self.worker(index).map(|worker| worker.team) else {
            return;
        };
        let current = self.serving(team);
        let kept = self.worker(index).filter(|worker| {
            worker.is_serving() && worker.generation == current && worker.worn.is_none()
        });
        let Some(worker) = kept else { return };
        worker.worn = Some(worn);
        self.replace_worn(team);
    }

    /// Forks successors for worn workers of a team, as far as the part of the team that may be
    /// replaced at once allows it.
    pub fn replace_worn(&mut self, team: usize) {
        let current = self.serving(team);
        let of_team = |worker: &&Worker| (worker.generation, worker.team) == (current, team);
        let workers = || self.workers.iter().flatten().filter(of_team);
        let serving = workers().filter(|worker| worker.is_serving()).count();
        let asked = |worker: &&Worker| worker.replacement_asked && worker.is_serving();
        let replacing = workers().filter(asked).count();
        let mut room = (serving / PART).max(1).saturating_sub(replacing);
        for index in 0..self.workers.len() {
            if room == 0 {
                return;
            }
            let Some(worker) = self.worker(index) else {
                continue;
            };
            let is_ours = (worker.generation, worker.team) == (current, team);
            if !is_ours || !worker.is_serving() || worker.replacement_asked {
                continue;
            }
            let Some(worn) = worker.worn else { continue };
            worker.replacement_asked = true;
            room -= 1;
            self.note_replacement(index, worn);
            self.fork_worker(current, team);
        }
    }

    /// Logs and counts that a worker ends because of a limit.
    pub fn note_replacement(&mut self, index: usize, worn: Worn) {
        let Some(worker) = self.workers[index].as_ref() else {
            return;
        };
        let origin = Origin {
            worker: Some(worker.pid),
            ..Origin::default()
        };
        let served = worker.served;
        let line = format_args!("the worker {worn} after {served} requests: it is replaced");
        self.log.log(worn.level(), origin, line);
        worn.count(&mut self.totals.replaced);
    }

    /// Replaces workers that have grown too old without a request. Forks again for workers whose
    /// successor could not be forked.
    pub fn replace_overdue(&mut self, now: Instant) {
        for index in 0..self.workers.len() {
            self.replace_if_worn(index, now);
        }
        for team in 0..self.teams.len() {
            let current = self.serving(team);
            let of_team = |worker: &&Worker| (worker.generation, worker.team) == (current, team);
            let workers = || self.workers.iter().flatten().filter(of_team);
            let starting = workers().filter(|worker| worker.state == WorkerState::Starting);
            let asked = workers().filter(|worker| worker.replacement_asked && worker.is_serving());
            let missing = asked.count().saturating_sub(starting.count());
            if missing > 0 && !self.stopping && !self.teams[team].false_starts.hold_back(now) {
                (0..missing).for_each(|_| self.fork_worker(current, team));
            }
        }
    }

    /// Plans the replacement of the workers of the current generation that are beyond a limit of
    /// memory.
    pub fn check_memory(&mut self, index: usize, memory: &ProcessMemory) {
        let Some(worker) = self.workers[index].as_ref() else {
            return;
        };
        let limits = match self.teams.get(worker.team) {
            Some(team) if worker.generation == team.generation => team.policy.limits,
            _ => return,
        };
        if let Some(worn) = Worn::by_memory(&limits, memory) {
            self.replace(index, worn);
        }
    }

    /// Returns how long a new worker lives: the configured time plus or minus 20 %, so that workers
    /// do not end together.
    pub fn lifetime(&mut self, configured: Option<Duration>) -> Option<Duration> {
        let configured = configured?;
        let part = 0.8 + 0.4 * (self.random() % 1000) as f64 / 1000.0;
        Some(configured.mul_f64(part))
    }
}

impl Pool {
    /// Drops the limits of memory that a worker of a new generation is beyond before its first
    /// request, because each successor would be beyond them too. The log names each such limit.
    pub(crate) async fn drop_impossible_limits(&self, number: u32) {
        let looks: Vec<(usize, u32, Option<Rc<Launcher>>)> = {
            let mut inner = self.borrow();
            let Some(generation) = inner.generation(number) else {
                return;
            };
            let limited = |team: &crate::team::Team| team.policy.limits.need_memory();
            let teams = generation.teams.iter().map(limited).collect::<Vec<bool>>();
            let first = |team: usize| {
                let mut workers = inner.workers.iter().flatten();
                let first = workers.find(|it| (it.generation, it.team) == (number, team));
                first.map(|worker| (team, worker.pid, worker.launcher.clone()))
            };
            let limited = (0..teams.len()).filter(|team| teams[*team]);
            limited.filter_map(first).collect()
        };
        for (team, pid, launcher) in looks {
            if let Some(memory) = memory_of(pid, launcher).await {
                self.borrow().drop_limits_beyond(number, team, &memory);
            }
        }
    }
}

impl Inner {
    fn drop_limits_beyond(&mut self, number: u32, team: usize, memory: &ProcessMemory) {
        let log = self.log.clone();
        let Some(generation) = self.generation(number) else {
            return;
        };
        let Some(team) = generation.teams.get_mut(team) else {
            return;
        };
        while let Some(worn) = Worn::by_memory(&team.policy.limits, memory) {
            log.error(format_args!(
                "a new worker{} {worn} before its first request: this limit has no effect",
                Of(&team.name)
            ));
            let limits = &mut team.policy.limits;
            match worn {
                Worn::Memory(..) => limits.memory = None,
                Worn::Unshared(..) => limits.unshared = None,
                Worn::Shared(..) => limits.shared = None,
                Worn::Requests | Worn::Lifetime | Worn::Asked => return,
            }
        }
    }
}

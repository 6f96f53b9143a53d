//! Keeps spare workers: starts, replaces and ends workers after a request and at each round.

use crate::inner::{Inner, Pool};
use crate::plan::{Machine, Plan};
use crate::team::{Of, Team};
use crate::worker::{Worker, WorkerState};
use crate::worn::Worn;
use mehari_wire::layout::record;
use std::time::{Duration, Instant};

/// A worker that spends this long on a request counts as taken. A worker that has spent less time
/// will be free so soon that it counts as spare.
const TAKEN: Duration = Duration::from_millis(10);

impl Pool {
    /// Returns the number of workers of each team, with reasons, as lines for the log.
    pub fn explain_plan(&self) -> Vec<String> {
        let inner = self.borrow();
        let teams = inner.teams.iter();
        teams.map(|team| team.describe(&team.plan)).collect()
    }

    /// Plans again with the measured private memory of the workers. Logs a changed plan.
    pub async fn measure(&self) {
        self.look_at_memory().await;
        let Ok(machine) = tokio::task::spawn_blocking(Machine::detect).await else {
            return;
        };
        let inner = &mut *self.borrow();
        let private: Vec<Option<u64>> = (0..inner.teams.len())
            .map(|team| inner.largest_private(team))
            .collect();
        let Inner { teams, log, .. } = inner;
        let machine = machine.shared(teams.iter().map(|team| &team.policy));
        for (team, private) in teams.iter_mut().zip(private) {
            let Some(private) = private else { continue };
            let plan = Plan::new(&team.policy, machine, Some(private));
            if plan.max != team.plan.max {
                log.notice(team.describe(&plan));
            }
            // `start` has already had its effect. Measured memory changes only the maximum, so the
            // limits for spare workers stay.
            team.plan.max = plan.max;
            team.plan.reasoning = plan.reasoning;
        }
    }
}

impl Inner {
    /// Returns the largest private memory of a team's workers, in bytes. Pages that the kernel can
    /// read again from a file do not count.
    fn largest_private(&self, team: usize) -> Option<u64> {
        let workers = self.workers.iter().flatten();
        workers
            .filter(|worker| worker.team == team)
            .filter_map(|worker| worker.memory.report())
            .map(|memory| memory.now.private_dirty)
            .max()
    }

    /// Returns the number of requests after which a new worker is replaced: the configured number
    /// plus or minus 20 %, so that workers do not end together.
    pub fn request_limit(&mut self, configured: Option<u32>) -> Option<u64> {
        let configured = u64::from(configured.filter(|limit| *limit > 0)?);
        let spread = configured / 5;
        if spread == 0 {
            return Some(configured);
        }
        Some(configured - spread + self.random() % (2 * spread + 1))
    }

    /// Decides after each request whether a worker is replaced or may end.
    /// `detail`: the detail of the worker's record `DONE`.
    pub fn after_request(&mut self, index: usize, detail: u16) {
        let Some(worker) = self.worker(index) else {
            return;
        };
        let (generation, team) = (worker.generation, worker.team);
        if worker.state == WorkerState::Retiring {
            if worker.held.is_empty() {
                worker.dismiss();
            }
            return;
        }
        let now = worker.head_since;
        if detail & record::DONE_RETIRE != 0 {
            self.note_replacement(index, Worn::Asked);
            self.retire(index);
            self.fork_worker(generation, team);
        } else if detail & record::DONE_REPLACE != 0 {
            self.replace(index, Worn::Asked);
        } else {
            self.replace_if_worn(index, now);
        }
    }

    /// Keeps each team's number of spare workers within its limits. Returns true if no team needs a
    /// change and no worker is starting.
    pub fn adjust_workers(&mut self, now: Instant) -> bool {
        let mut settled = true;
        for team in 0..self.teams.len() {
            settled &= self.adjust_team(team, now);
        }
        settled
    }

    fn adjust_team(&mut self, index: usize, now: Instant) -> bool {
        let team = &self.teams[index];
        let current = team.generation;
        if self
            .serving_zygote(team.perl)
            .is_none_or(|it| it.zygote.is_none())
        {
            // Whoever starts the zygote again also starts workers.
            return true;
        }
        if current == 0 || self.stopping || team.false_starts.hold_back(now) {
            return false;
        }
        let (mut total, mut starting, mut spare, mut waiting) = (0u32, 0u32, 0u32, 0u32);
        for worker in self
            .workers
            .iter()
            .flatten()
            .filter(|worker| worker.generation == current && worker.team == index)
        {
            match worker.state {
                WorkerState::Retiring => continue,
                WorkerState::Serving if worker.waits_for_front() => {
                    waiting += 1;
                    continue;
                }
                WorkerState::Starting => starting += 1,
                WorkerState::Serving if worker.head_age(now) < TAKEN => spare += 1,
                WorkerState::Serving => {}
            }
            total += 1;
        }
        let ready = spare + starting;
        let (plan, is_queued) = (&team.plan, !team.queue.is_empty());
        // While requests are queued, a worker that waits for an answer of the front is not counted,
        // because the answer may need another worker, as a page's includes do. Otherwise such
        // workers would wait for each other. There are never more workers than twice the maximum.
        let beyond = if is_queued {
            waiting.saturating_sub(plan.max)
        } else {
            waiting
        };
        let total = total + beyond;
        let may_be_empty = team.policy.may_be_empty();
        let rests = may_be_empty && !team.has_work() && spare == total && waiting == 0;
        let least = if rests { 0 } else { plan.min_spare };
        // While all workers are taken, each queued request may need one.
        let wanted = match spare {
            0 => u32::try_from(team.queue.len()).unwrap_or(u32::MAX),
            _ => 0,
        };
        let wanted = wanted.saturating_sub(starting);
        if ready < least || wanted > 0 {
            let missing = least.saturating_sub(ready);
            let room = plan.max.saturating_sub(total);
            // As in Apache, the number doubles each round (1, 2, 4, ...), so a burst does not start
            // all workers at once.
            let many = if team.false_starts.is_cautious() {
                1
            } else {
                let doubled = if missing > 0 { starting * 2 } else { 0 };
                missing.max(doubled).max(wanted.min(total.max(1)))
            };
            for _ in 0..many.min(room) {
                self.fork_worker(current, index);
            }
            if room == 0 && spare == 0 && is_queued {
                self.warn_of_max(index);
            }
            return false;
        }
        let too_many = spare > plan.max_spare || total > plan.max;
        let idle_limit = team.policy.limits.idle.filter(|_| spare > least);
        if starting == 0 && !self.teams[index].has_work() {
            if too_many {
                self.retire_coldest(index, now, Duration::from_secs(1));
            } else if idle_limit.is_some_and(|it| self.retire_coldest(index, now, it.time)) {
                self.totals.replaced.idle += 1;
                return false;
            }
        }
        !too_many && starting == 0
    }

    /// Forks a worker at once for the first queued request of a team that has none.
    pub fn end_rest_of_team(&mut self, team: usize) {
        let current = self.serving(team);
        let serves = |worker: &Worker| {
            (worker.generation, worker.team) == (current, team)
                && worker.state != WorkerState::Retiring
        };
        let is_first = self.teams[team].queue.len() == 1;
        if is_first && !self.workers.iter().flatten().any(serves) {
            self.adjust_team(team, Instant::now());
        }
    }

    fn warn_of_max(&self, team: usize) {
        let Team { name, plan, .. } = &self.teams[team];
        self.log.log_at_most_every(
            Duration::from_secs(60),
            &format!("max-clients {name}"),
            mehari_config::LogLevel::Error,
            format_args!(
                "server reached MaxClients setting{}, consider raising the MaxClients setting (MaxRequestWorkers {})",
                Of(name),
                plan.max
            ),
        );
    }

    /// Retires the worker at the bottom of the idle list, which has waited longest, if this worker
    /// has waited for longer than `least`. Only one worker per round retires, because load may
    /// return.
    fn retire_coldest(&mut self, team: usize, now: Instant, least: Duration) -> bool {
        let Some(&index) = self.teams[team].idle.first() else {
            return false;
        };
        let rested = self
            .worker(index)
            .is_some_and(|worker| now.saturating_duration_since(worker.head_since) > least);
        if rested {
            self.retire(index);
        }
        rested
    }
}

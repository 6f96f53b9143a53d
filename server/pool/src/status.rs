//! Makes a snapshot of the pool for `mehari status`.

use crate::call::RunningRequest;
use crate::crash_loop::CrashLoop;
use crate::inner::{Pool, Totals};
use crate::memory::{PoolMemory, WorkerMemory};
use crate::plan::Plan;
use crate::shedding::LoadStatus;
use crate::warmup_report::WarmupReport;
use crate::worker::WorkerState;
use std::time::Instant;

#[derive(Debug, Clone, serde::Serialize)]
pub struct PoolStatus {
    pub generation: u32,
    /// The main server's plan.
    pub plan: Plan,
    /// The main server's team, then the teams of virtual hosts.
    pub teams: Vec<TeamStatus>,
    /// The largest number of workers of all teams together.
    pub limit: u32,
    /// Requests waiting for a worker.
    pub queue: usize,
    /// Requests under way, including queued requests.
    pub active_requests: usize,
    pub busy: usize,
    pub idle: usize,
    /// The number of workers in a row that ended before they served a request. If the number is
    /// above 2, the next workers start after pauses.
    pub false_starts: u32,
    pub totals: Totals,
    pub workers: Vec<WorkerStatus>,
    /// All processes of Perl together.
    pub memory: PoolMemory,
    /// The workers' reports about scripts on the rung `rewind`.
    pub scripts: Vec<crate::RewoundScript>,
    /// The modules that templates of the next generation load before their scripts' requests.
    pub learned: Vec<crate::LearnedModule>,
    pub deferred: crate::DeferredStatus,
}

/// A team: the team of the main server, of a `<PerlPool>`, or of a virtual host with `PerlOptions
/// +Clone` or `+Parent`.
#[derive(Debug, Clone, serde::Serialize)]
pub struct TeamStatus {
    /// The virtual host or the pool. Empty: the main server.
    pub host: String,
    /// Whether the team belongs to a `<PerlPool>`.
    pub pool: bool,
    /// `User` of the pool.
    pub user: Option<String>,
    /// The generation whose workers serve.
    pub generation: u32,
    pub plan: Plan,
    pub queue: usize,
    pub busy: usize,
    pub idle: usize,
    pub false_starts: u32,
    /// `None`: the team's zygote and workers live, or have ended by chance.
    pub crash_loop: Option<CrashLoop>,
    /// Whether the team has no worker because no request needs one (`WorkerIdleTimeout ... All`).
    pub rests: bool,
    pub load: LoadStatus,
    /// What the warm-up of the team's zygote has brought. `None`: there was none.
    pub warmup: Option<WarmupReport>,
}

#[derive(Debug, Clone, serde::Serialize)]
pub struct WorkerStatus {
    pub pid: u32,
    /// Index into [`PoolStatus::teams`].
    pub team: usize,
    pub generation: u32,
    pub state: &'static str,
    /// Requests that the worker holds, including the running one.
    pub held: usize,
    pub request_id: Option<u64>,
    pub request: Option<RunningRequest>,
    /// Milliseconds for which the current request has run.
    pub running_ms: u64,
    /// Microseconds that the last finished request took.
    pub last_us: u64,
    pub served: u64,
    pub limit: Option<u64>,
    pub age_s: u64,
    /// `None` until the first look at the worker.
    pub memory: Option<WorkerMemory>,
}

impl PoolStatus {
    /// Returns the virtual host or the pool of a worker's team. Empty: the main server.
    pub fn host_of(&self, worker: &WorkerStatus) -> &str {
        let team = self.teams.get(worker.team);
        team.map_or("", |team| team.host.as_str())
    }
}

impl Pool {
    pub fn status(&self) -> PoolStatus {
        let now = Instant::now();
        let mut inner = self.borrow();
        let workers: Vec<WorkerStatus> = inner
            .workers
            .iter_mut()
            .flatten()
            .map(|worker| WorkerStatus {
                pid: worker.pid,
                team: worker.team,
                generation: worker.generation,
                state: match worker.state {
                    WorkerState::Starting => "starting",
                    WorkerState::Retiring => "retiring",
                    WorkerState::Serving if worker.held.is_empty() => "idle",
                    WorkerState::Serving => "busy",
                },
                held: worker.depth(),
                request_id: worker.held.front().map(|held| held.request_id),
                request: worker.running_request(),
                running_ms: worker.head_age(now).as_millis() as u64,
                last_us: worker.last_took.as_micros() as u64,
                served: worker.served,
                limit: worker.limit,
                age_s: now.saturating_duration_since(worker.started).as_secs(),
                memory: worker.memory.report(),
            })
            .collect();
        let teams: Vec<TeamStatus> = inner
            .teams
            .iter()
            .enumerate()
            .map(|(index, team)| {
                let mine = workers.iter().filter(|worker| worker.team == index);
                let count = |state| mine.clone().filter(|it| it.state == state).count();
                TeamStatus {
                    host: team.name.clone(),
                    pool: team.is_pool,
                    user: team.user.clone(),
                    generation: team.generation,
                    plan: team.plan.clone(),
                    queue: team.queue.len(),
                    busy: count("busy"),
                    idle: count("idle"),
                    false_starts: team.false_starts.in_a_row,
                    crash_loop: inner.crash_loop(index, now),
                    rests: mine.clone().next().is_none() && team.may_rest(now),
                    load: team.load(),
                    warmup: inner.warmup_of(team.perl),
                }
            })
            .collect();
        let sum = |of: fn(&TeamStatus) -> usize| teams.iter().map(of).sum();
        PoolStatus {
            generation: inner.current,
            plan: inner.teams[0].plan.clone(),
            limit: teams.iter().map(|team| team.plan.max).sum(),
            queue: sum(|team| team.queue),
            active_requests: inner.active_requests.saturating_sub(inner.deferred.running),
            busy: sum(|team| team.busy),
            idle: sum(|team| team.idle),
            false_starts: teams.iter().map(|it| it.false_starts).max().unwrap_or(0),
            teams,
            totals: inner.totals.clone(),
            workers,
            memory: inner.memory,
            scripts: inner.rewound.all(),
            learned: inner.learned.all(),
            deferred: inner.deferred_status(),
        }
    }
}

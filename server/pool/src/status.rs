//! A picture of the pool for `mehari status`.

use crate::inner::{Pool, Totals};
use crate::policy::Plan;
use crate::worker::State;
use std::time::Instant;

#[derive(Debug, Clone, serde::Serialize)]
pub struct PoolStatus {
    pub generation: u32,
    pub plan: Plan,
    /// Requests waiting for a worker.
    pub queue: usize,
    /// Requests under way, waiting ones included.
    pub under_way: usize,
    pub busy: usize,
    pub idle: usize,
    /// Workers in a row that ended before their first request: above 2 the next are started with pauses.
    pub false_starts: u32,
    pub totals: Totals,
    pub workers: Vec<WorkerStatus>,
}

#[derive(Debug, Clone, serde::Serialize)]
pub struct WorkerStatus {
    pub pid: u32,
    pub generation: u32,
    pub state: &'static str,
    /// Requests it holds, the one it runs included.
    pub held: usize,
    pub request_id: Option<u64>,
    /// How long the request it runs has run, milliseconds.
    pub running_ms: u64,
    pub served: u64,
    pub limit: Option<u64>,
    pub age_s: u64,
}

impl Pool {
    pub fn status(&self) -> PoolStatus {
        let now = Instant::now();
        let inner = self.borrow();
        let workers: Vec<WorkerStatus> = inner
            .workers
            .iter()
            .flatten()
            .map(|worker| WorkerStatus {
                pid: worker.pid,
                generation: worker.generation,
                state: match worker.state {
                    State::Starting => "starting",
                    State::Retiring => "retiring",
                    State::Serving if worker.held.is_empty() => "idle",
                    State::Serving => "busy",
                },
                held: worker.depth(),
                request_id: worker.held.front().map(|held| held.request_id),
                running_ms: worker.head_age(now).as_millis() as u64,
                served: worker.served,
                limit: worker.limit,
                age_s: now.saturating_duration_since(worker.started).as_secs(),
            })
            .collect();
        PoolStatus {
            generation: inner.current,
            plan: inner.plan.clone(),
            queue: inner.queue.len(),
            under_way: inner.exchanges.open_count(),
            busy: workers
                .iter()
                .filter(|worker| worker.state == "busy")
                .count(),
            idle: workers
                .iter()
                .filter(|worker| worker.state == "idle")
                .count(),
            false_starts: inner.false_starts.in_a_row,
            totals: inner.totals.clone(),
            workers,
        }
    }
}

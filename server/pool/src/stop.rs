//! Stops the pool: requests finish, then the workers end, then the zygotes end.

use crate::inner::Pool;
use crate::program::{kill_group, kill_one};
use crate::worker::WorkerState;
use std::time::{Duration, Instant};

impl Pool {
    /// Waits until no request is under way or `deadline` has passed. Returns true if all requests
    /// have finished.
    pub async fn drained(&self, deadline: Duration) -> bool {
        let until = Instant::now() + deadline;
        while self.active_requests() > 0 {
            if Instant::now() >= until {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        true
    }

    /// Ends every worker and zygote and waits for them. Running requests are lost, so the caller
    /// awaits `drained` first.
    pub async fn end(&self) {
        let mut waited_for = Vec::new();
        {
            let mut inner = self.borrow();
            inner.stopping = true;
            inner.drop_deferred();
            inner.current = 0;
            inner.teams.iter_mut().for_each(|team| team.generation = 0);
            for worker in inner.workers.iter_mut().flatten() {
                waited_for.push(worker.pid);
                worker.state = WorkerState::Retiring;
                worker.dismiss();
                if !worker.held.is_empty() {
                    worker.kill();
                }
            }
        }
        // A zygote reaps its workers, so the zygotes end after the workers.
        await_ends(&waited_for, PATIENCE).await;
        let zygotes = {
            let mut inner = self.borrow();
            let generations = std::mem::take(&mut inner.generations);
            generations
                .iter()
                .flat_map(|generation| &generation.zygotes)
                .filter_map(|loaded| loaded.zygote.as_ref()?.pid())
                .collect::<Vec<_>>()
        };
        waited_for.extend(zygotes);
        if !await_ends(&waited_for, PATIENCE).await {
            for pid in waited_for {
                kill_group(pid, libc::SIGKILL);
            }
        }
        let launchers = std::mem::take(&mut self.borrow().launchers);
        for launcher in launchers.values() {
            // The launcher kills the zygotes that have not ended.
            let _ = tokio::time::timeout(PATIENCE * 3, launcher.end()).await;
        }
        self.end_tasks();
        self.detach();
    }

    /// Ends every worker and zygote without a wait.
    pub fn end_at_once(&self) {
        let mut inner = self.borrow();
        inner.stopping = true;
        inner.drop_deferred();
        inner.current = 0;
        inner.teams.iter_mut().for_each(|team| team.generation = 0);
        for worker in inner.workers.iter_mut().flatten() {
            worker.state = WorkerState::Retiring;
            worker.kill();
        }
        // A zygote ends when its control socket closes.
        let generations = std::mem::take(&mut inner.generations);
        drop(inner);
        drop(generations);
        self.end_tasks();
        self.detach();
    }
}

/// How long `end` waits for the workers to end, and then for the zygotes.
const PATIENCE: Duration = Duration::from_secs(1);

/// Waits until none of the processes exists or the time is over. Returns true if none exists.
async fn await_ends(pids: &[u32], patience: Duration) -> bool {
    let until = Instant::now() + patience;
    while pids.iter().any(|pid| kill_one(*pid, 0)) {
        if Instant::now() >= until {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    true
}

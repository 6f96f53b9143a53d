//! Starts, replaces and retires workers, and takes the reports about them.

use crate::generation::NO_GENERATION;
use crate::inner::Inner;
use crate::worker::{Worker, WorkerState};
use crate::zygote::Zygote;
use mehari_config::WorkerPolicy;
use mehari_wire::Message;
use rustix::fd::OwnedFd;
use std::io;

impl Inner {
    pub fn count(&self, number: u32, which: impl Fn(&Worker) -> bool) -> usize {
        self.workers
            .iter()
            .flatten()
            .filter(|worker| worker.generation == number && which(worker))
            .count()
    }

    /// Asks the zygote of a generation's team for one more worker.
    pub fn fork_worker(&mut self, number: u32, team: usize) {
        let Some(generation) = self.generations.iter_mut().find(|it| it.number == number) else {
            return;
        };
        let teams = if generation.serves {
            &self.teams
        } else {
            &generation.teams
        };
        let Some(of) = teams.get(team) else { return };
        let (perl, policy) = (of.perl, of.policy.clone());
        let Some(loaded) = generation.zygotes.get_mut(perl) else {
            return;
        };
        let Some(zygote) = loaded.zygote.clone() else {
            return;
        };
        let (mut worker, theirs) = match Worker::new(number, team, self.templates_most) {
            Ok(made) => made,
            Err(error) => return self.failed_to_fork(number, perl, &error),
        };
        worker.perl = perl;
        worker.launcher = zygote.launcher().cloned();
        if let Err(error) = self.try_fork_worker(worker, &theirs, &policy, &zygote) {
            self.failed_to_fork(number, perl, &error);
        }
    }

    fn failed_to_fork(&mut self, number: u32, perl: usize, error: &io::Error) {
        self.log
            .error(format_args!("a worker cannot be started: {error}"));
        self.failed_to_start(number, perl);
    }

    /// Counts a worker that failed to start while a loading generation waits for it.
    pub fn failed_to_start(&mut self, number: u32, perl: usize) {
        if let Some(loaded) = self.loaded(number, perl) {
            loaded.failed_forks += 1;
        }
    }

    fn try_fork_worker(
        &mut self,
        mut worker: Worker,
        theirs: &OwnedFd,
        policy: &WorkerPolicy,
        zygote: &Zygote,
    ) -> io::Result<()> {
        let index = self.free_place();
        zygote.ask_worker(index as u32, worker.mailbox.file(), theirs)?;
        worker.limit = self.request_limit(policy.max_requests);
        worker.lifetime = self.lifetime(policy.limits.lifetime);
        self.put_worker(index, worker);
        self.totals.workers_started += 1;
        Ok(())
    }

    /// Lets a zygote serve requests itself. Returns its place among the workers.
    pub fn open_warming(&mut self, zygote: &Zygote) -> io::Result<usize> {
        let (mut worker, theirs) = Worker::new(NO_GENERATION, usize::MAX, self.templates_most)?;
        let index = self.free_place();
        zygote.ask_warmup(worker.mailbox.file(), &theirs)?;
        worker.pid = zygote.pid().unwrap_or_default();
        worker.launcher = zygote.launcher().cloned();
        worker.state = WorkerState::Serving;
        self.put_worker(index, worker);
        Ok(index)
    }

    fn free_place(&self) -> usize {
        let free = self.workers.iter().position(Option::is_none);
        free.unwrap_or(self.workers.len())
    }

    fn put_worker(&mut self, index: usize, worker: Worker) {
        if index == self.workers.len() {
            self.workers.push(Some(worker));
        } else {
            self.workers[index] = Some(worker);
        }
    }

    /// Gives the worker no further requests. The worker ends after its current ones.
    pub fn retire(&mut self, index: usize) {
        let Some(team) = self.worker(index).map(|worker| worker.team) else {
            return;
        };
        self.remove_from_idle(team, index);
        self.take_back_all(index);
        let Some(worker) = self.worker(index) else {
            return;
        };
        worker.in_idle = false;
        worker.state = WorkerState::Retiring;
        if worker.held.is_empty() {
            worker.dismiss();
        }
    }

    pub fn index_of(&self, pid: u32) -> Option<usize> {
        self.workers
            .iter()
            .position(|worker| worker.as_ref().is_some_and(|worker| worker.pid == pid))
    }

    pub fn forked(&mut self, index: usize, message: &Message) -> Option<u32> {
        let pid = u32::try_from(message.head.pid).ok().filter(|pid| *pid > 1);
        let Some(pid) = pid else {
            let reason = String::from_utf8_lossy(&message.text).into_owned();
            self.log
                .error(format_args!("the zygote could not fork a worker: {reason}"));
            if let Some(worker) = self.workers.get_mut(index).and_then(Option::take) {
                self.failed_to_start(worker.generation, worker.perl);
            }
            return None;
        };
        let worker = self.worker(index)?;
        worker.pid = pid;
        if worker.state == WorkerState::Retiring {
            return Some(pid);
        }
        worker.state = WorkerState::Serving;
        let of = (worker.generation, worker.team);
        self.workers_changed.notify_one();
        self.retire_replaced(of, index);
        self.worker_is_free(index);
        self.feed();
        Some(pid)
    }

    /// Drops the workers that a zygote was asked for and has not forked. The zygote is gone.
    pub fn drop_unforked(&mut self, number: u32, perl: usize) {
        let is_unforked =
            |worker: &Worker| (worker.generation, worker.perl) == (number, perl) && worker.pid <= 1;
        for place in &mut self.workers {
            if let Some(mut worker) = place.take_if(|worker| is_unforked(worker)) {
                // The zygote may have died between a fork and the report about it.
                worker.dismiss();
            }
        }
    }

    /// Ends the worker that asked for a replacement, because the new worker is ready.
    fn retire_replaced(&mut self, of: (u32, usize), new: usize) {
        let replaced = self.workers.iter().enumerate().position(|(index, worker)| {
            index != new
                && worker.as_ref().is_some_and(|worker| {
                    (worker.generation, worker.team) == of
                        && worker.replacement_asked
                        && worker.is_serving()
                })
        });
        if let Some(index) = replaced {
            let idle_since = self.worker(index).filter(|old| old.held.is_empty());
            let idle_since = idle_since.map(|old| old.head_since);
            if let (Some(since), Some(new)) = (idle_since, self.worker(new)) {
                new.head_since = since;
            }
            self.retire(index);
            self.replace_worn(of.1);
        }
    }
}

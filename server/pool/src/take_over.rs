//! Switches a team, or all teams, to a generation that has loaded.

use crate::inner::{Inner, Pool};

impl Pool {
    /// Sends new requests to this generation. Workers of other generations finish their requests.
    pub(crate) fn take_over(&self, number: u32) {
        let mut inner = self.borrow();
        let Some(generation) = inner.generation(number) else {
            return;
        };
        generation.serves = true;
        let mut teams = std::mem::take(&mut generation.teams);
        teams.iter_mut().for_each(|team| team.generation = number);
        let perls = generation.zygotes.len();
        inner.current = number;
        inner.replace_teams(teams, number);
        inner.settle_workers(|_| true);
        drop(inner);
        for perl in 0..perls {
            self.start_again_if_gone(number, perl);
        }
    }

    /// Sends new requests for a pool to this generation of it.
    pub(crate) fn take_over_pool(&self, number: u32, perl: usize) {
        let mut inner = self.borrow();
        let Some(generation) = inner.generation(number) else {
            return;
        };
        generation.serves = true;
        // The site is the one that serves, so the teams have the same places.
        let fresh = std::mem::take(&mut generation.teams);
        let mut places = Vec::new();
        for (place, fresh) in fresh.into_iter().enumerate() {
            if let Some(team) = inner.teams.get_mut(place).filter(|team| team.perl == perl) {
                team.generation = number;
                (team.plan, team.policy) = (fresh.plan, fresh.policy);
                team.false_starts = fresh.false_starts;
                team.idle.clear();
                places.push(place);
            }
        }
        inner.settle_workers(|team| places.contains(&team));
        drop(inner);
        self.start_again_if_gone(number, perl);
    }
}

impl Inner {
    /// Gives the workers of the serving generation to their teams, and retires the others. `of`
    /// chooses the teams.
    fn settle_workers(&mut self, of: impl Fn(usize) -> bool) {
        for index in 0..self.workers.len() {
            let Some((team, generation)) = self.worker(index).map(|it| (it.team, it.generation))
            else {
                continue;
            };
            if !of(team) || self.is_loading(generation) {
                continue;
            }
            if let Some(worker) = self.worker(index) {
                worker.in_idle = false;
            }
            if generation == self.serving(team) {
                self.worker_is_free(index);
            } else {
                self.retire(index);
            }
        }
        self.drop_ended_generations();
        self.feed();
        self.flush_wakes();
    }
}

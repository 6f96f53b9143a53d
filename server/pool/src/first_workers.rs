//! The Perls and the first workers of a generation that loads: which Perls it loads, how many
//! workers each team starts with, and whether they have started. `rollover` loads the generation.

use crate::false_starts::LONGEST;
use crate::inner::{Inner, Pool};
use crate::loading::LoadError;
use crate::team::{Of, Team};
use crate::worker::Worker;
use mehari_config::{Site, TeamMark};
use std::time::Instant;

/// A Perl that is loaded with a generation.
pub(crate) struct PerlToLoad {
    pub perl: usize,
    /// Whether the generation serves without this Perl: it belongs to a pool that does not serve
    /// now either.
    pub may_fail: bool,
}

impl Pool {
    /// Returns the Perls to load.
    pub(crate) fn parts_to_load(&self, site: &Site, only: Option<usize>) -> Vec<PerlToLoad> {
        let inner = self.borrow();
        let perls = (0..site.perls.len()).filter(|perl| only.is_none_or(|only| only == *perl));
        let part = |perl| {
            let mut pools = site.pools();
            let pool = pools.find(|(team, _)| team.perl == perl);
            let serves = pool.is_some_and(|(team, _)| inner.serves_now(team.mark));
            PerlToLoad {
                perl,
                may_fail: only.is_none() && pool.is_some() && !serves,
            }
        };
        perls.map(part).collect()
    }
}

impl Inner {
    /// Whether workers of a team serve, or its zygote can fork them.
    fn serves_now(&self, mark: TeamMark) -> bool {
        let place = self.teams.iter().position(|team| team.mark == mark);
        let Some(place) = place.filter(|place| self.serving(*place) > 0) else {
            return false;
        };
        let number = self.serving(place);
        let workers = self.count(number, |worker| worker.team == place && worker.is_serving());
        let zygote = self.serving_zygote(self.teams[place].perl);
        workers > 0 || zygote.is_some_and(|loaded| loaded.zygote.is_some())
    }

    /// Notes that a pool's zygote could not be started. The generation serves without it.
    pub fn note_failed_start(&mut self, number: u32, perl: usize, error: &LoadError) {
        let Some(generation) = self.generation(number) else {
            return;
        };
        let of = Of(generation.site.owner_of(perl).unwrap_or_default()).to_string();
        if let Some(loaded) = generation.zygotes.get_mut(perl) {
            loaded.restarts.add(Instant::now());
        }
        for line in error.to_string().lines() {
            self.log.error(format_args!("the Perl{of}: {line}"));
        }
        self.log.error(format_args!(
            "the pool{of} does not start: its requests get 503, and it is started again after \
             pauses of up to {} s",
            LONGEST.as_secs()
        ));
    }

    /// Whether the workers of a loading generation serve. A pool that may fail is left out if it
    /// fails.
    pub fn has_started(
        &mut self,
        number: u32,
        parts: &[PerlToLoad],
        starts: &[u32],
    ) -> Result<bool, LoadError> {
        let mut failed = Vec::new();
        for part in parts {
            let loaded = self.loaded(number, part.perl);
            if loaded.is_none_or(|it| it.failed_forks > 0 || it.zygote.is_none()) {
                if !part.may_fail {
                    return Err(LoadError::Fork(
                        "a fork failed, or a worker ended at once; the error log says why"
                            .to_owned(),
                    ));
                }
                failed.push(part.perl);
            }
        }
        let generation = self.generations.iter().find(|it| it.number == number);
        let teams = generation.map(|it| it.teams.as_slice()).unwrap_or_default();
        let is_ready = |(place, (team, start)): (usize, (&Team, &u32))| {
            let of_team = |worker: &Worker| worker.team == place && worker.is_serving();
            failed.contains(&team.perl) || self.count(number, of_team) >= *start as usize
        };
        Ok(teams.iter().zip(starts).enumerate().all(is_ready))
    }

    /// Returns how many workers each team of a loading generation starts with. A team that rests
    /// without a worker goes on resting.
    pub fn starts_of(&self, number: u32, parts: &[PerlToLoad]) -> Vec<u32> {
        let rests = |team: &Team| {
            let known = self.teams.iter().position(|it| it.mark == team.mark);
            let of_team = |place| move |worker: &Worker| worker.team == place;
            let has_none = |place| self.count(self.serving(place), of_team(place)) == 0;
            self.current > 0 && team.policy.may_start_empty() && known.is_some_and(has_none)
        };
        let is_loaded = |team: &Team| parts.iter().any(|part| part.perl == team.perl);
        let start = |team: &Team| {
            if !is_loaded(team) || rests(team) {
                0
            } else {
                team.plan.start
            }
        };
        let mut generations = self.generations.iter();
        let loading = generations.find(|it| it.number == number);
        let teams = loading.map(|it| it.teams.as_slice()).unwrap_or_default();
        teams.iter().map(start).collect()
    }
}

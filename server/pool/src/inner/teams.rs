//! Finds the team that serves a host, and replaces the teams at a reload.

use super::Inner;
use crate::deferral::DeferredCall;
use crate::queued::Queued;
use crate::team::Team;
use mehari_config::TeamMark;

impl Inner {
    /// Returns the team that serves a host now. If a reload removed the team, the main server's
    /// team serves the host.
    pub fn team_of(&self, mark: TeamMark) -> usize {
        let mut teams = self.teams.iter();
        teams.position(|team| team.mark == mark).unwrap_or(0)
    }

    /// Installs the next generation's teams. Waiting requests and finishing workers move to these
    /// teams.
    pub fn replace_teams(&mut self, teams: Vec<Team>, number: u32) {
        let before = std::mem::replace(&mut self.teams, teams);
        let places: Vec<usize> = before.iter().map(|old| self.team_of(old.mark)).collect();
        for worker in self.workers.iter_mut().flatten() {
            if worker.generation != number {
                worker.team = places.get(worker.team).copied().unwrap_or(0);
            }
        }
        for (old, place) in before.into_iter().zip(places) {
            if old.mark == self.teams[place].mark {
                self.teams[place].overload = old.overload;
            }
            // The next site may number its hosts otherwise.
            let deferred = old.deferred.into_iter();
            let deferred = deferred.map(|call| DeferredCall { host: 0, ..call });
            self.teams[place].deferred.extend(deferred);
            let queue = &mut self.teams[place].queue;
            let merges = !queue.is_empty() && !old.queue.is_empty();
            queue.extend(old.queue);
            if merges {
                queue.make_contiguous().sort_by_key(Queued::submitted);
            }
        }
    }

    /// Removes a worker from its team's idle list. Workers of a loading generation are on no list.
    pub fn remove_from_idle(&mut self, team: usize, worker: usize) {
        if let Some(team) = self.teams.get_mut(team) {
            team.idle.retain(|idle| *idle != worker);
        }
    }

    pub fn is_anything_queued(&self) -> bool {
        self.teams.iter().any(|team| !team.queue.is_empty())
    }
}

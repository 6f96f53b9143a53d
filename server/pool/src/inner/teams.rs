//! The teams of the generation in force: whose a host is, and what a reload does with them.

use super::Inner;
use crate::team::Team;
use mehari_config::TeamMark;

impl Inner {
    /// The team that serves a host now. After a reload that took it away, the main server's, which is who serves the
    /// host from then on.
    pub fn team_of(&self, mark: TeamMark) -> usize {
        let mut teams = self.teams.iter();
        teams.position(|team| team.mark == mark).unwrap_or(0)
    }

    /// The teams of the generation that takes over; what waits, and the workers that finish, go over to them.
    pub fn replace_teams(&mut self, teams: Vec<Team>, number: u32) {
        let before = std::mem::replace(&mut self.teams, teams);
        let places: Vec<usize> = before.iter().map(|old| self.team_of(old.mark)).collect();
        for worker in self.workers.iter_mut().flatten() {
            if worker.generation != number {
                worker.team = places.get(worker.team).copied().unwrap_or(0);
            }
        }
        for (old, place) in before.into_iter().zip(places) {
            let queue = &mut self.teams[place].queue;
            let merges = !queue.is_empty() && !old.queue.is_empty();
            queue.extend(old.queue);
            if merges {
                queue.make_contiguous().sort_by_key(|queued| queued.since);
            }
        }
    }

    /// A worker that is found on the idle list of a team, or of none: those of a generation that loads are on none.
    pub fn is_idle_no_more(&mut self, team: usize, worker: usize) {
        if let Some(team) = self.teams.get_mut(team) {
            team.idle.retain(|idle| *idle != worker);
        }
    }

    pub fn is_anything_queued(&self) -> bool {
        self.teams.iter().any(|team| !team.queue.is_empty())
    }
}

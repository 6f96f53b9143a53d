//! The workers that serve some hosts of a site: who of them is idle, what waits for them, how many there should be.
//!
//! The main server's team is the first of [`Inner::teams`]; a virtual host with `PerlOptions +Clone` or `+Parent` has
//! one of its own, so that what its requests wait for holds up nobody else's.

use crate::false_starts::FalseStarts;
use crate::inner::{Inner, Queued};
use crate::packing::Packing;
use crate::policy::Plan;
use mehari_config::{Site, TeamMark, WorkerPolicy};
use std::collections::VecDeque;

pub(crate) struct Team {
    pub mark: TeamMark,
    /// The virtual host it is of; empty: the main server's.
    pub name: String,
    /// Which of the generation's zygotes forks its workers.
    pub perl: usize,
    pub policy: WorkerPolicy,
    pub plan: Plan,
    /// Idle workers of the current generation, the last used on top.
    pub idle: Vec<usize>,
    pub queue: VecDeque<Queued>,
    pub packing: Packing,
    pub false_starts: FalseStarts,
}

/// ` of www.example`, for what is said of a virtual host's team; nothing for the main server's.
pub(crate) struct Of<'a>(pub &'a str);

impl std::fmt::Display for Of<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            "" => Ok(()),
            name => write!(out, " of {name}"),
        }
    }
}

impl Team {
    /// A plan as the log tells it.
    pub fn says(&self, plan: &Plan) -> String {
        match self.name.as_str() {
            "" => plan.reasoning.clone(),
            name => format!("{name}: {}", plan.reasoning),
        }
    }

    /// The teams of a site, a plan each.
    pub fn all(site: &Site, plans: Vec<Plan>) -> Vec<Team> {
        let teams = site.teams.iter().zip(plans);
        teams
            .map(|(team, plan)| Team {
                mark: team.mark,
                name: team.name.clone(),
                perl: team.perl,
                policy: site.policy(team),
                plan,
                idle: Vec::new(),
                queue: VecDeque::new(),
                packing: Packing::default(),
                false_starts: FalseStarts::default(),
            })
            .collect()
    }
}

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

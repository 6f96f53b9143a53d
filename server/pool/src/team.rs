//! The workers that serve some hosts of a site: who of them is idle, what waits for them, how many there should be.
//!
//! The main server's team is the first of the pool's list; a virtual host with `PerlOptions +Clone` or `+Parent` has
//! one of its own, so that what its requests wait for holds up nobody else's.

use crate::false_starts::FalseStarts;
use crate::packing::Packing;
use crate::plan::Plan;
use crate::queued::Queued;
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

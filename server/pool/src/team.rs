//! A team: the workers that serve one host, or all hosts without workers of their own, with the
//! team's idle list, queue and plan.
//!
//! The main server's team is the first of the pool's list. Each `<PerlPool>` and each virtual host
//! with `PerlOptions +Clone` or `+Parent` has its own team, so its slow requests do not delay the
//! requests of others.

use crate::deferral::DeferredCall;
use crate::false_starts::FalseStarts;
use crate::overload::Overload;
use crate::packing::Packing;
use crate::plan::Plan;
use crate::queued::Queued;
use mehari_config::{Site, TeamMark, WorkerPolicy};
use std::collections::VecDeque;
use std::time::Instant;

pub(crate) struct Team {
    pub mark: TeamMark,
    /// The virtual host or the pool. Empty: the main server.
    pub name: String,
    /// Whether the team belongs to a `<PerlPool>`.
    pub is_pool: bool,
    /// `User` of the pool.
    pub user: Option<String>,
    /// The generation whose workers serve. A pool can be reloaded without the others. 0: none
    /// serves yet.
    pub generation: u32,
    /// Index of the generation's zygote that forks the workers.
    pub perl: usize,
    pub policy: WorkerPolicy,
    pub plan: Plan,
    /// Idle workers of the current generation. The worker used last stands last.
    pub idle: Vec<usize>,
    pub queue: VecDeque<Queued>,
    /// Deferred calls whose requests are over.
    pub deferred: VecDeque<DeferredCall>,
    /// Whether the oldest of them has waited for too long.
    pub has_overdue_call: bool,
    pub packing: Packing,
    pub overload: Overload,
    pub false_starts: FalseStarts,
}

/// Displays as ` of www.example` in messages about a virtual host's team, and as nothing for the
/// main server's team.
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
    /// Whether the team needs no worker now. A team whose workers do not start needs one.
    pub fn may_rest(&self, now: Instant) -> bool {
        self.policy.may_be_empty() && !self.has_work() && !self.false_starts.hold_back(now)
    }

    /// Whether a request or a deferred call waits for a worker.
    pub fn has_work(&self) -> bool {
        !self.queue.is_empty() || !self.deferred.is_empty()
    }

    /// Returns a plan as a log line.
    pub fn describe(&self, plan: &Plan) -> String {
        match self.name.as_str() {
            "" => plan.reasoning.clone(),
            name => format!("{name}: {}", plan.reasoning),
        }
    }

    /// Returns the teams of a site, each with its plan.
    pub fn all(site: &Site, plans: Vec<Plan>) -> Vec<Team> {
        let teams = site.teams.iter().zip(plans);
        teams
            .map(|(team, plan)| Team {
                mark: team.mark,
                name: team.name.clone(),
                is_pool: team.pool.is_some(),
                user: team.pool.as_ref().and_then(|pool| pool.user.clone()),
                generation: 0,
                perl: team.perl,
                policy: site.policy(team),
                plan,
                idle: Vec::new(),
                queue: VecDeque::new(),
                deferred: VecDeque::new(),
                has_overdue_call: false,
                packing: Packing::default(),
                overload: Overload::default(),
                false_starts: FalseStarts::default(),
            })
            .collect()
    }
}

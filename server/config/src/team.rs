//! Teams: whose workers serve a host, which Perl they run, and how many there may be.
//!
//! Team 0 is the main server's and serves every host that asks for none. `PerlOptions +Clone` gives a virtual host
//! workers of its own, of the main server's Perl; `+Parent` gives it a Perl of its own as well.

use std::time::Duration;

use crate::{PerlSettings, Preloaded, Site};

/// What a `<VirtualHost>` has for itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Own {
    /// It shares the main server's workers.
    #[default]
    Nothing,
    /// `PerlOptions +Clone`
    Workers,
    /// `PerlOptions +Parent`
    Perl,
}

/// Who a team is. The same across reloads, where its place in [`Site::teams`] may be another; 0 is the main server's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, serde::Serialize)]
pub struct TeamMark(pub u32);

/// The workers that serve some hosts.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Team {
    pub mark: TeamMark,
    /// The virtual host it is of, by its `ServerName` or address; empty: the main server's.
    pub name: String,
    /// Which of [`Site::perls`] they are forked from.
    pub perl: usize,
    /// As its host says it; see [`Site::policy`].
    pub workers: WorkerPolicy,
}

/// `StartServers` and its family. A number that was not configured is `None`: the pool decides and says why.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct WorkerPolicy {
    pub start: Option<u32>,
    pub min_spare: Option<u32>,
    pub max_spare: Option<u32>,
    /// `MaxRequestWorkers`, alias `MaxClients`.
    pub max: Option<u32>,
    /// `MaxConnectionsPerChild`, alias `MaxRequestsPerChild`: requests a worker serves, +-20 %; `None` or 0 is no limit.
    pub max_requests: Option<u32>,
    /// `WorkerQueue`: requests that may wait for a worker.
    pub queue: u32,
    /// `WorkerQueueTimeout`: how long one may wait.
    pub queue_timeout: Duration,
    /// `WorkerDepth`: requests a worker may hold that it has not begun, 1 to 4.
    pub depth: u32,
    /// `GracefulShutdownTimeout`: how long a stop waits for requests under way.
    pub stop_timeout: Duration,
}

/// What a host says of its Perl and its workers, until all has been read.
#[derive(Default)]
pub(crate) struct TeamDraft {
    pub own: Own,
    /// `PerlOptions +InheritSwitches`
    pub inherits_switches: bool,
    pub perl: PerlSettings,
    pub workers: WorkerPolicy,
}

impl TeamDraft {
    /// The Perl of a host with `+Parent`: its own modules and switches, and beside its own environment the main server's.
    pub fn perl_beside(&self, main: &PerlSettings, preloads: Vec<Preloaded>) -> PerlSettings {
        let own = &self.perl;
        let inherits = self.inherits_switches && own.switches.is_empty();
        PerlSettings {
            interpreter: main.interpreter.clone(),
            switches: if inherits {
                &main.switches
            } else {
                &own.switches
            }
            .clone(),
            preloads,
            pass_env: joined(&main.pass_env, &own.pass_env),
            set_env: joined(&main.set_env, &own.set_env),
        }
    }
}

fn joined<T: Clone>(one: &[T], other: &[T]) -> Vec<T> {
    one.iter().chain(other).cloned().collect()
}

impl TeamMark {
    /// A mark of the name (FNV-1a) that none of the others has, and never the main server's.
    pub(crate) fn beside(others: &[Team], name: &str) -> TeamMark {
        let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        let mut mark = TeamMark(hash);
        while mark.0 == 0 || others.iter().any(|other| other.mark == mark) {
            mark.0 = mark.0.wrapping_add(1);
        }
        mark
    }
}

impl Site {
    /// The main server's Perl.
    pub fn perl(&self) -> &PerlSettings {
        &self.perls[0]
    }

    /// The main server's workers.
    pub fn workers(&self) -> &WorkerPolicy {
        &self.teams[0].workers
    }

    pub fn workers_mut(&mut self) -> &mut WorkerPolicy {
        &mut self.teams[0].workers
    }

    /// The numbers of a team: what its host does not say, the main server's lines do.
    pub fn policy(&self, team: &Team) -> WorkerPolicy {
        let (own, main) = (&team.workers, self.workers().clone());
        WorkerPolicy {
            start: own.start.or(main.start),
            min_spare: own.min_spare.or(main.min_spare),
            max_spare: own.max_spare.or(main.max_spare),
            max: own.max.or(main.max),
            max_requests: own.max_requests.or(main.max_requests),
            ..main
        }
    }

    /// The host that a Perl of its own was asked for by; `None`: it is the main server's.
    pub fn owner_of(&self, perl: usize) -> Option<&str> {
        let mut teams = self.teams.iter();
        let owner = teams.find(|team| perl > 0 && team.perl == perl);
        owner.map(|team| team.name.as_str())
    }
}

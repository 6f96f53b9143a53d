//! Teams: the workers of a host, their Perl, and their number.
//!
//! Team 0 belongs to the main server and serves every host without its own team. `PerlOptions
//! +Clone` gives a virtual host its own workers of the main server's Perl. `+Parent` also gives it
//! its own Perl.

use std::time::Duration;

use crate::{PerlSettings, Preloaded};

/// The parts that a `<VirtualHost>` does not share with the main server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Own {
    /// The host shares the main server's workers.
    #[default]
    Nothing,
    /// `PerlOptions +Clone`
    Workers,
    /// `PerlOptions +Parent`
    Perl,
}

/// The identity of a team. It stays the same across reloads, while the index in
/// [`crate::Site::teams`] may change. 0 is the main server's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, serde::Serialize)]
pub struct TeamMark(pub u32);

/// The workers that serve some hosts.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Team {
    pub mark: TeamMark,
    /// The virtual host, by its `ServerName` or address. Empty: the main server.
    pub name: String,
    /// The index in [`crate::Site::perls`] of the team's Perl.
    pub perl: usize,
    /// The numbers as the host sets them; see [`crate::Site::policy`].
    pub workers: WorkerPolicy,
}

/// `StartServers` and its relatives. `None`: not configured, so the pool chooses a number and gives
/// the reason.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct WorkerPolicy {
    pub start: Option<u32>,
    pub min_spare: Option<u32>,
    pub max_spare: Option<u32>,
    /// `MaxRequestWorkers`, alias `MaxClients`.
    pub max: Option<u32>,
    /// `MaxConnectionsPerChild`, alias `MaxRequestsPerChild`: requests per worker, plus or minus 20
    /// %. `None` or 0: no limit.
    pub max_requests: Option<u32>,
    /// `WorkerQueue`: requests that may wait for a worker.
    pub queue: u32,
    /// `WorkerQueueTimeout`: how long a request may wait.
    pub queue_timeout: Duration,
    /// `WorkerDepth`: requests, 1 to 4, that a worker may hold without having started them.
    pub depth: u32,
    /// `GracefulShutdownTimeout`: how long a stop waits for running requests.
    pub stop_timeout: Duration,
}

/// A host's Perl and worker settings while the configuration is read.
#[derive(Default)]
pub(crate) struct TeamDraft {
    pub own: Own,
    /// `PerlOptions +InheritSwitches`
    pub inherits_switches: bool,
    pub perl: PerlSettings,
    pub workers: WorkerPolicy,
}

impl TeamDraft {
    /// Returns the Perl of a host with `+Parent`: its own modules and switches, and both
    /// environments, its own and the main server's.
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
    /// Returns a mark of the name (FNV-1a) that differs from all others and from the main server's.
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

//! Teams: the workers that serve a host, the Perl of these workers, and their number.
//!
//! Team 0 belongs to the main server and serves every host without its own team. `PerlOptions
//! +Clone` gives a virtual host its own workers of the main server's Perl. `PerlOptions +Parent`
//! also gives the virtual host its own Perl. `<PerlPool>` makes a team with its own Perl, which
//! hosts and sections are assigned to.

use std::time::Duration;

use crate::{PerlSettings, Preloaded};

mod pool;

pub use pool::{AssignedPool, Cgroup, PerlPool};

/// What a `<VirtualHost>` does not share with the main server.
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

/// The identity of a team. A reload may change a team's index in [`crate::Site::teams`], but not
/// its mark. The mark of the main server's team is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, serde::Serialize)]
pub struct TeamMark(pub u32);

/// The workers that serve one host, or all hosts without workers of their own.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Team {
    pub mark: TeamMark,
    /// The name of the pool, or of the virtual host: its `ServerName` or its address. Empty: the
    /// main server.
    pub name: String,
    /// The settings of the team's `<PerlPool>`. `None`: the team belongs to a host.
    pub pool: Option<PerlPool>,
    /// The index of the team's Perl in [`crate::Site::perls`].
    pub perl: usize,
    /// The settings that the host or the pool itself makes. [`crate::Site::policy`] adds the main
    /// server's.
    pub workers: WorkerPolicy,
}

/// The settings of workers: `StartServers` and related directives. `None`: the number is not
/// configured, so the pool chooses it and logs the reason.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct WorkerPolicy {
    pub start: Option<u32>,
    pub min_spare: Option<u32>,
    pub max_spare: Option<u32>,
    /// `MaxRequestWorkers`, alias `MaxClients`.
    pub max: Option<u32>,
    /// `MaxConnectionsPerChild`, alias `MaxRequestsPerChild`: a worker ends after this number of
    /// requests, plus or minus 20 %. `None` or 0: no limit.
    pub max_requests: Option<u32>,
    pub limits: WorkerLimits,
    /// `WorkerQueue`: the number of requests that may wait for a worker.
    pub queue: Option<u32>,
    /// `WorkerQueueTimeout`: how long a request may wait.
    pub queue_timeout: Option<Duration>,
    /// `WorkerQueueTarget`. `None`: the default.
    pub queue_target: Option<QueueTarget>,
    /// `WorkerDepth`: the number of requests, 1 to 4, that may lie in a worker's mailbox without
    /// being started.
    pub depth: Option<u32>,
    pub deferred: DeferredLimits,
    /// `GracefulShutdownTimeout`: how long the server waits for running requests when it stops.
    pub stop_timeout: Duration,
}

/// The limits of deferred calls (`$r->after_response`), which all teams share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct DeferredLimits {
    /// `DeferredCalls`: how many calls of named subs may wait.
    pub calls: u32,
    /// `DeferredCallsMemory`: the bytes that they may take.
    pub bytes: u64,
    /// `DeferredCallTimeout`: how long a call may run.
    pub timeout: Duration,
}

/// The wait in the queue above which a team counts as overloaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub enum QueueTarget {
    /// The pool derives the target from the measured time that a request takes.
    #[default]
    Auto,
    /// No wait counts as overload.
    Off,
    Time(Duration),
}

/// The limits at which a worker is replaced. `None`: no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct WorkerLimits {
    /// `MaxWorkerMemory`: the most resident memory of a worker in bytes, with what it shares.
    pub memory: Option<u64>,
    /// `MaxUnsharedMemory`: the most memory in bytes that no other process has.
    pub unshared: Option<u64>,
    /// `MinSharedMemory`: the least memory in bytes that a worker shares with other processes.
    pub shared: Option<u64>,
    /// `MaxWorkerLifetime`
    pub lifetime: Option<Duration>,
    pub idle: Option<IdleLimit>,
}

/// `WorkerIdleTimeout`: a worker that waited for a request for this time ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct IdleLimit {
    pub time: Duration,
    /// Whether the spare workers end too, so that none is left while no request comes.
    pub ends_all: bool,
}

impl WorkerLimits {
    /// Whether any limit needs to know the memory of the workers.
    pub fn need_memory(&self) -> bool {
        self.memory.or(self.unshared).or(self.shared).is_some()
    }
}

impl WorkerPolicy {
    /// Whether the team may start without a worker. The limits of memory are compared with a first
    /// worker.
    pub fn may_start_empty(&self) -> bool {
        self.may_be_empty() && !self.limits.need_memory()
    }

    /// Returns the number of requests that may wait for a worker.
    pub fn longest_queue(&self) -> u32 {
        self.queue.unwrap_or(0)
    }

    /// Returns how long a request may wait for a worker.
    pub fn longest_wait(&self) -> Duration {
        self.queue_timeout.unwrap_or_default()
    }

    /// Whether the team may have no worker while no request comes.
    pub fn may_be_empty(&self) -> bool {
        self.limits.idle.is_some_and(|idle| idle.ends_all)
    }

    /// Returns these settings. A setting that is not made here is that of `main`.
    pub fn over(&self, main: &WorkerPolicy) -> WorkerPolicy {
        WorkerPolicy {
            start: self.start.or(main.start),
            min_spare: self.min_spare.or(main.min_spare),
            max_spare: self.max_spare.or(main.max_spare),
            max: self.max.or(main.max),
            max_requests: self.max_requests.or(main.max_requests),
            queue: self.queue.or(main.queue),
            queue_timeout: self.queue_timeout.or(main.queue_timeout),
            queue_target: self.queue_target.or(main.queue_target),
            depth: self.depth.or(main.depth),
            limits: WorkerLimits {
                memory: self.limits.memory.or(main.limits.memory),
                unshared: self.limits.unshared.or(main.limits.unshared),
                shared: self.limits.shared.or(main.limits.shared),
                lifetime: self.limits.lifetime.or(main.limits.lifetime),
                idle: self.limits.idle.or(main.limits.idle),
            },
            ..main.clone()
        }
    }
}

/// A host's Perl and worker settings while the configuration is read.
#[derive(Default)]
pub(crate) struct TeamDraft {
    pub own: Own,
    /// `PerlOptions +InheritSwitches`
    pub inherits_switches: bool,
    /// `PerlPool`: the pool that serves the host.
    pub pool: Option<String>,
    pub perl: PerlSettings,
    pub workers: WorkerPolicy,
}

impl TeamDraft {
    /// Returns the settings for the Perl of a pool, or of a host with `+Parent`. Modules and
    /// switches are its own. The environment has the main server's variables and its own.
    pub fn perl_beside(&self, main: &PerlSettings, preloads: Vec<Preloaded>) -> PerlSettings {
        let own = &self.perl;
        let inherits = self.inherits_switches && own.switches.is_empty();
        PerlSettings {
            interpreter: if own.interpreter.as_os_str().is_empty() {
                main.interpreter.clone()
            } else {
                own.interpreter.clone()
            },
            switches: if inherits {
                &main.switches
            } else {
                &own.switches
            }
            .clone(),
            preloads,
            pass_env: joined(&main.pass_env, &own.pass_env),
            set_env: joined(&main.set_env, &own.set_env),
            warmup: own.warmup.beside(&main.warmup),
            fork_lint: own.fork_lint.or(main.fork_lint),
            merges_memory: own.merges_memory.or(main.merges_memory),
            is_watched: main.is_watched,
            exact_folder: None,
        }
    }
}

fn joined<T: Clone>(one: &[T], other: &[T]) -> Vec<T> {
    one.iter().chain(other).cloned().collect()
}

impl TeamMark {
    /// Returns a mark for a team with this name. The mark is a hash (FNV-1a) of the name, changed
    /// if another team already has this mark.
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

//! Exact profiles (`mehari profile --exact`): a pool beside the server's own, whose Perl loads
//! Devel::NYTProf before everything else, so that all compiled code is instrumented. The front
//! gives chosen requests to this pool. The pool shares no process with the server's pool, so
//! nothing that happens in it harms other requests.

use crate::call::{Call, Task, TimeLimits, WarmupResolver};
use crate::inner::Pool;
use crate::launcher::Launchers;
use crate::loading::LoadError;
use crate::plan::Plan;
use crate::zygote::environment;
use mehari_config::{ForkLint, PerlSettings, QueueTarget, Rung, Site, WorkerLimits, WorkerPolicy};
use mehari_observe::ErrorLog;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::process::Command;

/// The longest time of a request, and of its wait. The server ends an exact profile earlier.
const LONGEST: Duration = Duration::from_secs(3600);
/// The most requests that wait for the profiled process.
const QUEUE: u32 = 1000;
/// Succeeds if perl finds the profiler. The module itself is not loaded, because it would write.
const FIND: &str = "exit !grep { !ref && -f \"$_/Devel/NYTProf.pm\" } @INC";

impl Pool {
    /// Starts a pool of one process for each Perl of the site, in which requests are profiled. Each
    /// request leaves a file in the folder: `NUMBER-PID.out`.
    ///
    /// # Errors
    ///
    /// [`LoadError`] as for [`Pool::start`], or if a perl has no profiler.
    pub async fn start_exact(
        site: &Site,
        folder: &Path,
        log: ErrorLog,
        resolver: WarmupResolver,
    ) -> Result<Pool, LoadError> {
        let site = Arc::new(exact_site(site, folder));
        for perl in site.perls.iter().filter(|it| it.exact_folder.is_some()) {
            find_profiler(perl).await?;
        }
        let plans = Plan::all(&site);
        Pool::start(site, plans, log, resolver, Launchers::new()).await
    }

    /// Changes a call so that its Perl runs in a process that can be profiled to its end.
    pub fn make_exact(call: &mut Call<'_>) {
        call.timeout = TimeLimits::hard(LONGEST);
        call.task = without_rewinding(call.task);
    }

    /// Returns how many processes have died.
    pub fn deaths(&self) -> u64 {
        self.borrow().totals.workers_died
    }
}

/// Returns the site with the profiler in each Perl, and with one worker in each team. A pool that
/// runs as another user gets no code, because the front would start it as its own user.
fn exact_site(site: &Site, folder: &Path) -> Site {
    let mut exact = site.clone();
    for (number, perl) in exact.perls.iter_mut().enumerate() {
        if site.pool_of(number).is_some_and(|pool| pool.is_launched()) {
            *perl = PerlSettings {
                interpreter: site.perl().interpreter.clone(),
                ..PerlSettings::default()
            };
        } else {
            perl.exact_folder = Some(folder.to_owned());
        }
        perl.warmup = Default::default();
        perl.fork_lint = Some(ForkLint::Off);
    }
    for team in &mut exact.teams {
        team.workers = WorkerPolicy {
            start: Some(1),
            min_spare: Some(1),
            max_spare: Some(1),
            max: Some(1),
            max_requests: Some(0),
            limits: WorkerLimits::default(),
            queue: Some(QUEUE),
            queue_timeout: Some(LONGEST),
            queue_target: Some(QueueTarget::Off),
            depth: Some(1),
            ..team.workers.clone()
        };
    }
    exact
}

/// The profiler's own memory must not be rewound.
fn without_rewinding(mut task: Task<'_>) -> Task<'_> {
    match &mut task {
        Task::Script { rung, .. } if matches!(rung, Rung::Rewind | Rung::Auto) => {
            *rung = Rung::Fork;
        }
        Task::Handler { rewound, .. } | Task::Psgi { rewound, .. } => *rewound = false,
        _ => {}
    }
    task
}

async fn find_profiler(perl: &PerlSettings) -> Result<(), LoadError> {
    let own = std::env::var_os("PERL5LIB").unwrap_or_default();
    let found = Command::new(&perl.interpreter)
        .args(&perl.switches)
        .args(["-e", FIND])
        .env_clear()
        .envs(environment(perl))
        .env("PERL5LIB", own)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .status()
        .await?;
    let name = perl.interpreter.display().to_string();
    found
        .success()
        .then_some(())
        .ok_or(LoadError::NoProfiler(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_on_other_rungs_than_rewind_keep_their_rung() {
        for (rung, expected) in [
            (Rung::Rewind, Rung::Fork),
            (Rung::Auto, Rung::Fork),
            (Rung::Registry, Rung::Registry),
            (Rung::PerlRun, Rung::PerlRun),
        ] {
            let script = |rung| Task::Script {
                rung,
                file: b"/a.pl",
            };
            assert_eq!(without_rewinding(script(rung)), script(expected));
        }
        let psgi = |rewound| Task::Psgi {
            file: b"/app.psgi",
            rewound,
        };
        assert_eq!(without_rewinding(psgi(true)), psgi(false));
    }
}

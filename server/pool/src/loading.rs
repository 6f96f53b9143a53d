//! Starts a zygote that loads the site's modules, either to serve or only to test that the modules
//! load.

use crate::launcher::{launcher_of, Launcher, Launchers};
use crate::learned::LearnedModule;
use crate::perl_side::PerlSide;
use crate::readiness::next_message;
use crate::reports::copy_lines;
use crate::team::Of;
use crate::zygote::{environment, Zygote};
use mehari_config::{PerlSettings, Phase, Preload, Problem, Site};
use mehari_observe::{ErrorLog, Origin};
use mehari_wire::layout::control;
use mehari_wire::Bell;
use rustix::fd::OwnedFd;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::rc::Rc;

/// Why a generation does not serve.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{0}")]
    PerlSide(#[from] crate::perl_side::Error),
    #[error("the zygote cannot be started with {interpreter}: {reason}")]
    Spawn {
        interpreter: String,
        reason: io::Error,
    },
    #[error("{} of the preloads failed:\n{}", .0.len(), lines(.0))]
    Preload(Vec<Problem>),
    #[error("the zygote ended while it was loading; its last messages are in the error log")]
    Died,
    #[error("ZygoteWarmup{of}: {reason} (ZygoteWarmupFailure Refuse)")]
    Warmup { of: String, reason: String },
    #[error("no worker could be started: {0}")]
    Fork(String),
    #[error(
        "{0} has no Devel::NYTProf: install the package libdevel-nytprof-perl (Debian), or \
         Devel::NYTProf from CPAN"
    )]
    NoProfiler(String),
    #[error("a reload is already under way")]
    Busy,
    #[error("there is no <PerlPool {0}>")]
    NoPool(String),
    #[error(transparent)]
    System(#[from] io::Error),
}

fn lines(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    lines.join("\n")
}

/// Returns the failure that a zygote reports for the preload with this number, counted from 1.
/// Number 0 stands for the start as a whole.
fn failure(site: &Site, perl: usize, number: u32, text: &[u8]) -> Failure {
    let reason = String::from_utf8_lossy(text);
    let preload = (number as usize).checked_sub(1);
    let preload = preload.and_then(|index| site.perls[perl].preloads.get(index));
    let mut problem = match preload {
        Some(preload) => preload.problem(&reason),
        None => Problem::from(reason.trim_end().to_owned()),
    };
    if let Some(name) = withheld(&site.perls[perl], &reason) {
        let hint = format!("; the server has `{name}`, and `--pass-env {name}` or `PerlPassEnv {name}` passes it to Perl");
        problem.message.push_str(&hint);
    }
    if let Some(host) = site.owner_of(perl) {
        problem.message = format!("in the Perl of {host}: {}", problem.message);
    }
    Failure {
        problem,
        is_handler: preload.is_some_and(|it| matches!(it.what, Preload::Handler(_))),
    }
}

/// Returns the first variable that the reason names and that only the server's environment has, not
/// Perl's.
fn withheld<'r>(settings: &PerlSettings, reason: &'r str) -> Option<&'r str> {
    let is_of_a_name = |letter: char| letter == '_' || letter.is_ascii_alphanumeric();
    let mut words = reason.split(|letter| !is_of_a_name(letter));
    let passed = environment(settings);
    words.find(|word| {
        let is_variable = word.len() > 2 && !word.bytes().any(|byte| byte.is_ascii_lowercase());
        let is_passed = || passed.iter().any(|(name, _)| name == word);
        is_variable && std::env::var_os(word).is_some() && !is_passed()
    })
}

/// A preload that failed.
struct Failure {
    problem: Problem,
    /// Whether the preload is the handler of a phase. In this case only the requests that want the
    /// handler fail.
    is_handler: bool,
}

fn refuse(failures: &[Failure]) -> Result<(), LoadError> {
    if failures.is_empty() {
        return Ok(());
    }
    let problems = failures.iter().map(|it| it.problem.clone()).collect();
    Err(LoadError::Preload(problems))
}

/// Completes when a zygote has ended its warm-up and can fork workers.
pub(crate) async fn warmed(
    site: &Site,
    perl: usize,
    zygote: &Zygote,
    log: &ErrorLog,
) -> Result<(), LoadError> {
    let (failures, _) = outcome(site, perl, zygote, log).await?;
    refuse(&failures)
}

/// The inputs of a zygote's start.
pub(crate) struct Loading<'s> {
    pub site: &'s Site,
    /// The index of the Perl in the site.
    pub perl: usize,
    pub bell: &'s Bell,
    /// Receives the zygote's standard error.
    pub log: ErrorLog,
    /// The modules that the requests of earlier generations have loaded again and again.
    pub learned: &'s [LearnedModule],
    /// Whether requests will run in the zygote before it forks ([`crate::warmup`]).
    pub warms: bool,
    /// Starts the zygote. `None`: the front starts it.
    pub launcher: Option<Rc<Launcher>>,
}

/// The reason for loading.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Occasion {
    /// The server starts. A handler that cannot be loaded is reported in the log as an error, as
    /// under mod_perl. Requests that want the handler get 500.
    Start,
    /// A serving server loads its next generation. Everything has to load.
    Reload,
    /// A check tests whether everything loads. The check leaves out PerlOpenLogsHandler and
    /// PerlPostConfigHandler, because these handlers act for a server that starts.
    Trial,
}

/// Loads the site's modules, ends the zygotes, and returns what failed. Await this function in a
/// [`tokio::task::LocalSet`].
///
/// # Errors
///
/// All preloads that the Perls of the site cannot load. If there are none: the first other failure,
/// such as a zygote that cannot be started.
pub async fn try_loading(
    site: &Site,
    launchers: &Launchers,
    log: ErrorLog,
) -> Result<(), LoadError> {
    let bell = &Bell::create()?;
    let mut outcome = Ok(());
    for perl in 0..site.perls.len() {
        let loading = Loading {
            site,
            perl,
            bell,
            log: log.clone(),
            learned: &[],
            warms: false,
            launcher: launcher_of(launchers, site, perl),
        };
        outcome = combine_failures(outcome, loading.try_it().await);
    }
    outcome
}

/// Combines the failures of two loadings. If both failed at preloads, the result has the preloads
/// of both. Otherwise the result is the first failure.
pub(crate) fn combine_failures(
    one: Result<(), LoadError>,
    other: Result<(), LoadError>,
) -> Result<(), LoadError> {
    match (one, other) {
        (Err(LoadError::Preload(mut all)), Err(LoadError::Preload(more))) => {
            all.extend(more);
            Err(LoadError::Preload(all))
        }
        (Ok(()), other) => other,
        (one, _) => one,
    }
}

impl Loading<'_> {
    async fn try_it(self) -> Result<(), LoadError> {
        let (mut zygote, _) = self.load(Occasion::Trial).await?;
        zygote.control.get_ref().hang_up();
        zygote.wait().await?;
        Ok(())
    }

    /// Completes when everything has loaded. Returns the zygote and the files that the zygote
    /// loaded, without perl's own files.
    pub async fn load(self, occasion: Occasion) -> Result<(Zygote, Vec<PathBuf>), LoadError> {
        let (site, perl) = (self.site, self.perl);
        let (zygote, stderr) = self.start().await?;
        if let Some(stderr) = stderr {
            let origin = Origin {
                pid: zygote.pid(),
                host: site.host_of_perl(perl),
                ..Origin::default()
            };
            tokio::task::spawn_local(copy_lines(stderr, self.log.clone(), origin));
        }
        // The zygote may send reports before it has read everything, so both run at once.
        let told = self.send_configuration(&zygote, occasion);
        let ((), (failures, loaded)) =
            tokio::try_join!(told, outcome(site, perl, &zygote, &self.log))?;
        let forgiven = occasion == Occasion::Start && failures.iter().all(|it| it.is_handler);
        if !forgiven {
            refuse(&failures)?;
        }
        for failure in failures {
            self.log.error(format_args!(
                "{}; requests for this handler answer 500",
                failure.problem
            ));
        }
        Ok((zygote, loaded))
    }

    /// Starts the process. Also returns its standard error.
    async fn start(&self) -> Result<(Zygote, Option<OwnedFd>), LoadError> {
        let (site, perl) = (self.site, self.perl);
        let interpreter = site.perls[perl].interpreter.clone();
        let failed = |reason| LoadError::Spawn {
            interpreter: interpreter.display().to_string(),
            reason,
        };
        if let Some(launcher) = &self.launcher {
            let launched = Zygote::launch(site, perl, self.bell, launcher.clone()).await;
            return launched
                .map(|(zygote, stderr)| (zygote, Some(stderr)))
                .map_err(failed);
        }
        let built = interpreter.clone();
        let side = tokio::task::spawn_blocking(move || PerlSide::ensure(&built))
            .await
            .map_err(io::Error::other)??;
        Zygote::spawn(site, perl, &side, self.bell).map_err(failed)
    }

    /// Sends the zygote its settings and the list of what to load.
    async fn send_configuration(
        &self,
        zygote: &Zygote,
        occasion: Occasion,
    ) -> Result<(), LoadError> {
        let told = async {
            zygote.send_servers(self.site, self.perl).await?;
            for preload in &self.site.perls[self.perl].preloads {
                zygote.send_preload(&preload.what).await?;
            }
            for module in self.learned {
                zygote.send_learned(module).await?;
            }
            let trial = u32::from(occasion == Occasion::Trial) * control::READY_TRIAL;
            let warms = u32::from(self.warms) * control::READY_WARMS;
            zygote.ask_ready(trial | warms).await
        };
        told.await.map_err(|_: io::Error| LoadError::Died)
    }
}

/// Adds the handlers that a Perl's start-up code pushed. `text`: the directive of the phase, then
/// the handlers, separated by NUL.
fn push_handlers(site: &Site, perl: usize, host: u32, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let mut parts = text.split('\0').map(str::to_string);
    let named = parts.next().and_then(|name| Phase::named(&name));
    if let Some(phase) = named {
        site.push_handlers(perl, host, phase, parts.collect());
    }
}

/// Reads the zygote's messages until the zygote is ready. Returns what failed, and which files the
/// zygote loaded.
async fn outcome(
    site: &Site,
    perl: usize,
    zygote: &Zygote,
    log: &ErrorLog,
) -> Result<(Vec<Failure>, Vec<PathBuf>), LoadError> {
    let mut failures: Vec<Failure> = Vec::new();
    let mut loaded = Vec::new();
    loop {
        let Some(message) = next_message(&zygote.control).await? else {
            return Err(LoadError::Died);
        };
        match message.head.kind {
            control::READY => return Ok((failures, loaded)),
            control::FAILED => {
                let failure = failure(site, perl, message.head.slot, &message.text);
                // A module that several lines name is reported only once.
                if !failures
                    .iter()
                    .any(|known| known.problem.message == failure.problem.message)
                {
                    failures.push(failure);
                }
            }
            control::LINTED => {
                let found = String::from_utf8_lossy(&message.text).into_owned();
                let of = Of(site.owner_of(perl).unwrap_or_default()).to_string();
                log.warn(format_args!("the Perl{of}: {found}"));
            }
            control::PUSHED => push_handlers(site, perl, message.head.slot, &message.text),
            control::LOADED => loaded.push(PathBuf::from(OsString::from_vec(message.text))),
            _ => {}
        }
    }
}

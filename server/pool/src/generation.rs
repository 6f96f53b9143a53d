//! Generations: one zygote and its workers each. A new one takes over only when it has loaded.

use crate::false_starts::FalseStarts;
use crate::inner::{Inner, Pool};
use crate::perl_side::PerlSide;
use crate::policy::Plan;
use crate::reports::{copy_lines, keep_bell, listen};
use crate::zygote::{next_message, Zygote};
use mehari_config::{Phase, Problem, Site};
use mehari_observe::ErrorLog;
use mehari_wire::layout::control;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

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
    #[error("{} of what is preloaded failed:\n{}", .0.len(), lines(.0))]
    Preload(Vec<Problem>),
    #[error("the zygote ended while it loaded; its last words are in the error log")]
    Died,
    #[error("no worker could be started: {0}")]
    Fork(String),
    #[error("a reload is under way already")]
    Busy,
    #[error(transparent)]
    System(#[from] io::Error),
}

fn lines(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    lines.join("\n")
}

/// What the zygote says of the preload of this number, from 1; 0: of the start as a whole.
fn problem(site: &Site, number: u32, text: &[u8]) -> Problem {
    let reason = String::from_utf8_lossy(text);
    let preload = (number as usize).checked_sub(1);
    match preload.and_then(|index| site.perl.preloads.get(index)) {
        Some(preload) => preload.problem(&reason),
        None => Problem::from(reason.trim_end().to_owned()),
    }
}

pub(crate) struct Generation {
    pub number: u32,
    pub zygote: Option<Rc<Zygote>>,
    pub site: Arc<Site>,
    pub failed_forks: u32,
    /// Files the zygote loaded that are not perl's own.
    pub loaded: Vec<PathBuf>,
}

/// Whoever listens to the zygote holds it too: it must be told, or it would live on.
impl Drop for Generation {
    fn drop(&mut self) {
        if let Some(zygote) = &self.zygote {
            zygote.control.get_ref().hang_up();
        }
    }
}

impl Pool {
    /// Builds the pool and its first generation; answers when its workers are ready.
    pub async fn start(site: Arc<Site>, plan: Plan, log: ErrorLog) -> Result<Pool, LoadError> {
        let pool = Pool::new(site.clone(), plan, log)?;
        pool.attach();
        let number = pool.load(site).await?;
        pool.take_over(number);
        tokio::task::spawn_local(pool.clone().watch_depth());
        pool.measure().await;
        tokio::task::spawn_local(pool.clone().keep_time());
        tokio::task::spawn_local(pool.clone().keep_measure());
        tokio::task::spawn_local(keep_bell(pool.clone()));
        Ok(pool)
    }

    /// Loads the next generation beside the running one and rolls over to it. On an error nothing changed.
    pub async fn reload(&self, site: Arc<Site>, plan: Plan) -> Result<u32, LoadError> {
        let number = self.load(site.clone()).await?;
        {
            let mut inner = self.borrow();
            inner.site = site;
            inner.plan = plan;
        }
        self.take_over(number);
        Ok(number)
    }

    async fn load(&self, site: Arc<Site>) -> Result<u32, LoadError> {
        let number = {
            let mut inner = self.borrow();
            let loading = inner
                .generations
                .iter()
                .any(|generation| generation.number > inner.current);
            if loading {
                return Err(LoadError::Busy);
            }
            let number = inner.next_generation;
            inner.next_generation += 1;
            inner.generations.push(Generation {
                number,
                zygote: None,
                site: site.clone(),
                failed_forks: 0,
                loaded: Vec::new(),
            });
            number
        };
        let loaded = match self.start_zygote(number, &site).await {
            Ok(()) => self.start_workers(number).await,
            Err(error) => Err(error),
        };
        if let Err(error) = loaded {
            self.discard(number);
            return Err(error);
        }
        Ok(number)
    }

    /// Spawns a zygote, has it load everything, and begins to listen to it.
    pub(crate) async fn start_zygote(&self, number: u32, site: &Site) -> Result<(), LoadError> {
        let interpreter = site.perl.interpreter.clone();
        let perl = tokio::task::spawn_blocking(move || PerlSide::ensure(&interpreter))
            .await
            .map_err(io::Error::other)??;
        let (zygote, stderr) =
            Zygote::spawn(site, &perl, &self.borrow().bell).map_err(|reason| LoadError::Spawn {
                interpreter: site.perl.interpreter.display().to_string(),
                reason,
            })?;
        if let Some(stderr) = stderr {
            let log = self.borrow().log.clone();
            tokio::task::spawn_local(copy_lines(stderr, log, zygote.pid()));
        }
        zygote.send_servers(site).map_err(|_| LoadError::Died)?;
        for preload in &site.perl.preloads {
            zygote
                .send_preload(&preload.what)
                .map_err(|_| LoadError::Died)?;
        }
        zygote.ask_ready().map_err(|_| LoadError::Died)?;
        let mut failures = Vec::new();
        let mut loaded = Vec::new();
        loop {
            match next_message(&zygote.control).await? {
                None => return Err(LoadError::Died),
                Some(message) if message.head.kind == control::READY => break,
                Some(message) if message.head.kind == control::FAILED => {
                    let problem = problem(site, message.head.slot, &message.text);
                    // A module that several lines name is told once.
                    if !failures
                        .iter()
                        .any(|known: &Problem| known.message == problem.message)
                    {
                        failures.push(problem);
                    }
                }
                Some(message) if message.head.kind == control::PUSHED => {
                    push_handlers(site, message.head.slot, &message.text);
                }
                Some(message) if message.head.kind == control::LOADED => {
                    loaded.push(PathBuf::from(OsString::from_vec(message.text)));
                }
                Some(_) => {}
            }
        }
        if !failures.is_empty() {
            return Err(LoadError::Preload(failures));
        }
        let zygote = Rc::new(zygote);
        if let Some(generation) = self.borrow().generation(number) {
            generation.zygote = Some(zygote.clone());
            generation.loaded = loaded;
        }
        tokio::task::spawn_local(listen(self.clone(), number, zygote));
        Ok(())
    }

    async fn start_workers(&self, number: u32) -> Result<(), LoadError> {
        let wanted = {
            let mut inner = self.borrow();
            let wanted = inner.plan.start;
            for _ in 0..wanted {
                inner.fork_worker(number);
            }
            wanted as usize
        };
        loop {
            let changed = self.0.changed.notified();
            let (ready, failed) = {
                let mut inner = self.borrow();
                let ready = inner.count(number, |worker| worker.is_serving());
                let failed = inner
                    .generation(number)
                    .map_or(1, |generation| generation.failed_forks);
                (ready, failed)
            };
            if ready >= wanted {
                return Ok(());
            }
            if failed > 0 {
                return Err(LoadError::Fork(
                    "a fork failed, or a worker ended at once; the error log says why".to_owned(),
                ));
            }
            changed.await;
        }
    }

    /// New requests go to this generation; the workers of others finish what they hold.
    fn take_over(&self, number: u32) {
        let mut inner = self.borrow();
        inner.current = number;
        inner.false_starts = FalseStarts::default();
        inner.idle.clear();
        for index in 0..inner.workers.len() {
            let Some(worker) = inner.worker(index) else {
                continue;
            };
            worker.in_idle = false;
            if worker.generation == number {
                inner.worker_is_free(index);
            } else {
                inner.retire(index);
            }
        }
        inner.drop_ended_generations();
        inner.feed();
        inner.flush_wakes();
    }

    fn discard(&self, number: u32) {
        let mut inner = self.borrow();
        for index in 0..inner.workers.len() {
            if inner
                .worker(index)
                .is_some_and(|worker| worker.generation == number)
            {
                inner.retire(index);
            }
        }
        inner
            .generations
            .retain(|generation| generation.number != number);
    }
}

/// A phase's directive and the handlers that start-up code gave it, NUL between.
fn push_handlers(site: &Site, host: u32, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let mut parts = text.split('\0').map(str::to_string);
    let named = parts.next().and_then(|name| Phase::named(&name));
    if let Some(phase) = named {
        site.push_handlers(host, phase, parts.collect());
    }
}

impl Inner {
    pub fn generation(&mut self, number: u32) -> Option<&mut Generation> {
        self.generations
            .iter_mut()
            .find(|generation| generation.number == number)
    }

    /// The zygotes of generations that no longer serve and have no workers left.
    pub fn drop_ended_generations(&mut self) {
        let current = self.current;
        let busy: Vec<u32> = self
            .workers
            .iter()
            .flatten()
            .map(|worker| worker.generation)
            .collect();
        self.generations
            .retain(|generation| generation.number >= current || busy.contains(&generation.number));
    }
}

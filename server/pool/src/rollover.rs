//! Loads a generation and switches to it after everything has loaded.

use crate::call::WarmupResolver;
use crate::first_workers::PerlToLoad;
use crate::generation::{Generation, Loaded, FIRST_GENERATION};
use crate::inner::Pool;
use crate::launcher::{launcher_of, Launchers};
use crate::loading::{combine_failures, warmed, LoadError, Loading, Occasion};
use crate::plan::Plan;
use crate::reports::{listen, watch_bell};
use crate::team::{Of, Team};
use crate::timer::Timer;
use crate::warmup::{Warming, WarmupError};
use crate::warmup_report::WarmupReport;
use crate::zygote::Zygote;
use mehari_config::Site;
use mehari_observe::ErrorLog;
use mehari_wire::Bell;
use std::cell::RefCell;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use tokio::task::spawn_local;

/// A zygote, the files that it has loaded, and what its warm-up has brought.
type LoadOutcome = Result<(Zygote, Vec<PathBuf>, Option<WarmupReport>), LoadError>;

impl Pool {
    /// Builds the pool and its first generation. Completes when the workers are ready.
    ///
    /// # Errors
    ///
    /// [`LoadError`] if the descriptors of the pool cannot be made, or if a zygote cannot be
    /// started or does not load its modules.
    pub async fn start(
        site: Arc<Site>,
        plans: Vec<Plan>,
        log: ErrorLog,
        warmup_resolver: WarmupResolver,
        launchers: Launchers,
    ) -> Result<Pool, LoadError> {
        let pool = Pool::new(site.clone(), plans.clone(), log, warmup_resolver)?;
        let mut unfinished = Unfinished(Some(pool.clone()));
        pool.borrow().launchers = launchers;
        let timer = Timer::create()?;
        pool.attach();
        let bell = pool.borrow().bell.clone();
        pool.run(watch_bell(bell));
        let number = pool.load(site, plans, None).await?;
        pool.take_over(number);
        pool.run(pool.clone().watch_depth(timer));
        pool.measure().await;
        pool.run(pool.clone().enforce_limits());
        pool.run(pool.clone().follow_deferred());
        pool.run(pool.clone().answer_open_questions());
        pool.run(pool.clone().measure_memory());
        unfinished.0 = None;
        Ok(pool)
    }

    /// Loads the next generation beside the current one and switches to it.
    ///
    /// # Errors
    ///
    /// [`LoadError`] as for [`Pool::start`]. The current generation then goes on.
    pub async fn reload(
        &self,
        site: Arc<Site>,
        plans: Vec<Plan>,
        launchers: Launchers,
    ) -> Result<u32, LoadError> {
        // A generation that goes on needs its launchers, too.
        self.borrow().launchers.extend(launchers.clone());
        let number = self.load(site.clone(), plans, None).await?;
        self.borrow().site = site;
        self.take_over(number);
        self.borrow().launchers = launchers;
        Ok(number)
    }

    /// Loads the next generation of one pool, with the configuration that serves, and switches to
    /// it. The zygotes and workers of the others do not change.
    ///
    /// # Errors
    ///
    /// [`LoadError`] as for [`Pool::start`]. The pool's current generation then goes on.
    pub async fn reload_pool(&self, name: &str) -> Result<u32, LoadError> {
        let site = self.borrow().site.clone();
        let mut pools = site.pools();
        let perl = pools
            .find(|(_, pool)| pool.name == name)
            .map(|(team, _)| team.perl);
        let perl = perl.ok_or_else(|| LoadError::NoPool(name.to_owned()))?;
        let plans = Plan::all(&site);
        let number = self.load(site.clone(), plans, Some(perl)).await?;
        self.take_over_pool(number, perl);
        Ok(number)
    }

    /// Loads a generation. `only`: the Perl of the pool that is loaded alone.
    async fn load(
        &self,
        site: Arc<Site>,
        plans: Vec<Plan>,
        only: Option<usize>,
    ) -> Result<u32, LoadError> {
        let number = {
            let mut inner = self.borrow();
            if inner
                .generations
                .iter()
                .any(|generation| !generation.serves)
            {
                return Err(LoadError::Busy);
            }
            let number = inner.next_generation;
            inner.next_generation += 1;
            inner.generations.push(Generation {
                number,
                zygotes: site.perls.iter().map(|_| Loaded::default()).collect(),
                serves: false,
                teams: Team::all(&site, plans),
                site: site.clone(),
            });
            number
        };
        let parts = self.parts_to_load(&site, only);
        let loaded = match self.start_zygotes(number, &site, &parts).await {
            Ok(()) => self.start_workers(number, &parts).await,
            Err(error) => Err(error),
        };
        if let Err(error) = loaded {
            self.discard(number);
            return Err(error);
        }
        self.drop_impossible_limits(number).await;
        self.check_merging(number);
        Ok(number)
    }

    /// Starts the zygotes at once, because each of them loads its modules independently.
    async fn start_zygotes(
        &self,
        number: u32,
        site: &Arc<Site>,
        parts: &[PerlToLoad],
    ) -> Result<(), LoadError> {
        let starting: Vec<_> = parts
            .iter()
            .map(|part| {
                let (pool, site, perl) = (self.clone(), site.clone(), part.perl);
                spawn_local(async move { pool.start_zygote(number, perl, &site).await })
            })
            .collect();
        let mut outcome = Ok(());
        for (part, one) in parts.iter().zip(starting) {
            let started = one.await.unwrap_or(Err(LoadError::Died));
            match started {
                Err(error) if part.may_fail => {
                    self.borrow().note_failed_start(number, part.perl, &error);
                }
                started => outcome = combine_failures(outcome, started),
            }
        }
        outcome
    }

    /// Starts the zygote of a Perl, lets it load everything, and begins to read its messages.
    pub(crate) async fn start_zygote(
        &self,
        number: u32,
        perl: usize,
        site: &Arc<Site>,
    ) -> Result<(), LoadError> {
        let occasion = match number {
            FIRST_GENERATION => Occasion::Start,
            _ => Occasion::Reload,
        };
        let (zygote, files, warmup) = if site.perls[perl].warms_up() {
            self.load_warm(perl, site, occasion).await?
        } else {
            self.load_cold(perl, site, occasion).await?
        };
        let zygote = Rc::new(zygote);
        if let Some(loaded) = self.borrow().loaded(number, perl) {
            loaded.zygote = Some(zygote.clone());
            loaded.ready_since = Some(Instant::now());
            loaded.has_been_ready = true;
            loaded.files = files;
            loaded.warmup = warmup;
        }
        spawn_local(listen(self.clone(), number, perl, zygote));
        Ok(())
    }

    async fn load_cold(&self, perl: usize, site: &Site, occasion: Occasion) -> LoadOutcome {
        let (zygote, files) = self.load_zygote(perl, site, occasion, false).await?;
        Ok((zygote, files, None))
    }

    /// Loads a zygote and runs requests in it. A zygote whose requests have failed is thrown away,
    /// and another one is loaded.
    async fn load_warm(&self, perl: usize, site: &Arc<Site>, occasion: Occasion) -> LoadOutcome {
        let (zygote, files) = self.load_zygote(perl, site, occasion, true).await?;
        let of = Of(site.owner_of(perl).unwrap_or_default()).to_string();
        let log = self.borrow().log.clone();
        match self.warm_up(perl, site, &zygote, &log).await? {
            Ok(report) => {
                log.notice(format_args!("ZygoteWarmup{of}: {report}"));
                Ok((zygote, files, Some(report)))
            }
            Err(error) if site.perls[perl].warmup.refuses() => Err(LoadError::Warmup {
                of,
                reason: error.to_string(),
            }),
            Err(error) => {
                log.error(format_args!(
                    "ZygoteWarmup{of}: {error}: the workers start without a warm-up"
                ));
                drop(zygote);
                self.load_cold(perl, site, occasion).await
            }
        }
    }

    /// Runs the requests of the warm-up. The inner error says why the zygote cannot be used.
    async fn warm_up(
        &self,
        perl: usize,
        site: &Arc<Site>,
        zygote: &Zygote,
        log: &ErrorLog,
    ) -> Result<Result<WarmupReport, WarmupError>, LoadError> {
        let warming = Warming {
            pool: self,
            site,
            perl,
            zygote,
            resolver: self.borrow().warmup_resolver.clone(),
            now: RefCell::default(),
        };
        let mut ready = pin!(warmed(site, perl, zygote, log));
        let report = tokio::select! {
            report = warming.run() => report,
            // Before it is told to go on, the zygote reports nothing but its end.
            _ = &mut ready => Err(WarmupError::Died(warming.now.borrow().clone())),
        };
        match report {
            Ok(report) => ready.await.map(|()| Ok(report)),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn load_zygote(
        &self,
        perl: usize,
        site: &Site,
        occasion: Occasion,
        warms: bool,
    ) -> Result<(Zygote, Vec<PathBuf>), LoadError> {
        let (log, learned, launcher) = {
            let inner = self.borrow();
            let launcher = launcher_of(&inner.launchers, site, perl);
            (inner.log.clone(), inner.learned.all(), launcher)
        };
        let bell = match (&launcher, site.pool_of(perl)) {
            (Some(_), Some(pool)) => self.bell_of_pool(&pool.name)?,
            _ => self.borrow().bell.clone(),
        };
        let loading = Loading {
            site,
            launcher,
            perl,
            bell: &bell,
            log,
            learned: &learned,
            warms,
        };
        loading.load(occasion).await
    }

    /// Returns the bell of a pool with a launcher.
    fn bell_of_pool(&self, name: &str) -> io::Result<Rc<Bell>> {
        if let Some(bell) = self.borrow().pool_bells.get(name) {
            return Ok(bell.clone());
        }
        let bell = Rc::new(Bell::create()?);
        let known = bell.clone();
        self.borrow().pool_bells.insert(name.to_owned(), known);
        self.run(watch_bell(bell.clone()));
        Ok(bell)
    }

    async fn start_workers(&self, number: u32, parts: &[PerlToLoad]) -> Result<(), LoadError> {
        let starts = {
            let mut inner = self.borrow();
            let starts = inner.starts_of(number, parts);
            for (team, start) in starts.iter().enumerate() {
                for _ in 0..*start {
                    inner.fork_worker(number, team);
                }
            }
            starts
        };
        loop {
            let changed = self.0.changed.notified();
            if self.borrow().has_started(number, parts, &starts)? {
                return Ok(());
            }
            changed.await;
        }
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

/// A pool that has not started. Dropping the value ends what the pool has begun.
struct Unfinished(Option<Pool>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.0.iter().for_each(Pool::end_at_once);
    }
}

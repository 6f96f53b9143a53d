//! Loads a generation and switches to it after everything has loaded.

use crate::call::WarmupResolver;
use crate::generation::{Generation, Loaded, FIRST_GENERATION};
use crate::inner::{Inner, Pool};
use crate::loading::{combine_failures, warmed, LoadError, Loading, Occasion};
use crate::plan::Plan;
use crate::reports::{listen, watch_bell};
use crate::team::{Of, Team};
use crate::timer::Timer;
use crate::warmup::{Warming, WarmupError};
use crate::warmup_report::WarmupReport;
use crate::worker::Worker;
use crate::zygote::Zygote;
use mehari_config::Site;
use mehari_observe::ErrorLog;
use std::cell::RefCell;
use std::path::PathBuf;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
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
    ) -> Result<Pool, LoadError> {
        let pool = Pool::new(site.clone(), plans.clone(), log, warmup_resolver)?;
        let timer = Timer::create()?;
        pool.attach();
        spawn_local(watch_bell(pool.clone()));
        let number = pool.load(site, plans).await?;
        pool.take_over(number);
        spawn_local(pool.clone().watch_depth(timer));
        pool.measure().await;
        spawn_local(pool.clone().enforce_limits());
        spawn_local(pool.clone().follow_deferred());
        spawn_local(pool.clone().measure_memory());
        Ok(pool)
    }

    /// Loads the next generation beside the current one and switches to it.
    ///
    /// # Errors
    ///
    /// [`LoadError`] as for [`Pool::start`]. The current generation then goes on.
    pub async fn reload(&self, site: Arc<Site>, plans: Vec<Plan>) -> Result<u32, LoadError> {
        let number = self.load(site.clone(), plans).await?;
        self.borrow().site = site;
        self.take_over(number);
        Ok(number)
    }

    async fn load(&self, site: Arc<Site>, plans: Vec<Plan>) -> Result<u32, LoadError> {
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
                zygotes: site.perls.iter().map(|_| Loaded::default()).collect(),
                teams: Team::all(&site, plans),
                site: site.clone(),
            });
            number
        };
        let loaded = match self.start_zygotes(number, &site).await {
            Ok(()) => self.start_workers(number).await,
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

    /// Starts all zygotes at once, because each of them loads its modules independently.
    async fn start_zygotes(&self, number: u32, site: &Arc<Site>) -> Result<(), LoadError> {
        let starting: Vec<_> = (0..site.perls.len())
            .map(|perl| {
                let (pool, site) = (self.clone(), site.clone());
                spawn_local(async move { pool.start_zygote(number, perl, &site).await })
            })
            .collect();
        let mut outcome = Ok(());
        for one in starting {
            let started = one.await.unwrap_or(Err(LoadError::Died));
            outcome = combine_failures(outcome, started);
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
        let (zygote, files, warmup) = match site.perls[perl].warms_up() {
            true => self.load_warm(perl, site, occasion).await?,
            false => self.load_cold(perl, site, occasion).await?,
        };
        let zygote = Rc::new(zygote);
        if let Some(loaded) = self.borrow().loaded(number, perl) {
            loaded.zygote = Some(zygote.clone());
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
        let (bell, log, learned) = {
            let inner = self.borrow();
            (inner.bell.clone(), inner.log.clone(), inner.learned.all())
        };
        let loading = Loading {
            site,
            perl,
            bell: &bell,
            log,
            learned: &learned,
            warms,
        };
        loading.load(occasion).await
    }

    async fn start_workers(&self, number: u32) -> Result<(), LoadError> {
        let wanted = {
            let mut inner = self.borrow();
            let starts = inner.starts_of(number);
            for (team, start) in starts.iter().enumerate() {
                for _ in 0..*start {
                    inner.fork_worker(number, team);
                }
            }
            starts.iter().sum::<u32>() as usize
        };
        loop {
            let changed = self.0.changed.notified();
            let (ready, failed) = {
                let mut inner = self.borrow();
                let ready = inner.count(number, |worker| worker.is_serving());
                let zygotes = inner.generation(number).map(|it| it.zygotes.as_slice());
                let failed = zygotes.map_or(1, |all| all.iter().map(|it| it.failed_forks).sum());
                (ready, failed)
            };
            if ready >= wanted {
                return Ok(());
            }
            if failed > 0_u32 {
                return Err(LoadError::Fork(
                    "a fork failed, or a worker ended at once; the error log says why".to_owned(),
                ));
            }
            changed.await;
        }
    }

    /// Sends new requests to this generation. Workers of other generations finish their requests.
    fn take_over(&self, number: u32) {
        let mut inner = self.borrow();
        let Some(generation) = inner.generation(number) else {
            return;
        };
        let teams = std::mem::take(&mut generation.teams);
        inner.current = number;
        inner.replace_teams(teams, number);
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

impl Inner {
    /// Returns how many workers each team of a loading generation starts with. A team that rests
    /// without a worker goes on resting.
    fn starts_of(&self, number: u32) -> Vec<u32> {
        let rests = |team: &Team| {
            let known = self.teams.iter().position(|it| it.mark == team.mark);
            let of_team = |place| move |worker: &Worker| worker.team == place;
            let has_none = |place| self.count(self.current, of_team(place)) == 0;
            self.current > 0 && team.policy.may_start_empty() && known.is_some_and(has_none)
        };
        let start = |team: &Team| if rests(team) { 0 } else { team.plan.start };
        let mut generations = self.generations.iter();
        let loading = generations.find(|it| it.number == number);
        let teams = loading.map(|it| it.teams.as_slice()).unwrap_or_default();
        teams.iter().map(start).collect()
    }
}

//! Generations: one zygote and its workers each. A new one takes over only when it has loaded.

use crate::false_starts::FalseStarts;
use crate::inner::{Inner, Pool};
use crate::loading::{LoadError, Loading, Occasion};
use crate::policy::Plan;
use crate::reports::{keep_bell, listen};
use crate::timer::Timer;
use crate::zygote::Zygote;
use mehari_config::Site;
use mehari_observe::ErrorLog;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

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
        let timer = Timer::create()?;
        pool.attach();
        let number = pool.load(site).await?;
        pool.take_over(number);
        tokio::task::spawn_local(pool.clone().watch_depth(timer));
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
        let (bell, log) = {
            let inner = self.borrow();
            (inner.bell.clone(), inner.log.clone())
        };
        let loading = Loading {
            site,
            bell: &bell,
            log,
        };
        let (zygote, loaded) = loading.load(Occasion::Serving).await?;
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

//! Edge Lua: a site's scripts, and the interpreter that runs them between other requests.
//!
//! `pipeline::scripts` calls [`Lua::run`] before the access phase and before a response's head is
//! sent. `mehari_edge` is the interpreter. `disk` shows files to scripts. A script whose last run
//! was long runs on a thread (`helper`), if one is free.

mod disk;
mod helper;

use crate::content::Files;
use disk::Disk;
use helper::Job;
use mehari_config::{Host, LuaSettings, Settings, Site};
use mehari_edge::{Edge, Failure, Limits, ScriptDecision, Source, Stage, Step, Visit};
use mehari_filewatch::FileWatcher;
use mehari_net::clock::Clock;
use mehari_net::compute_threads::ComputeThreads;
use std::cell::{Cell, OnceCell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// The most visits that are kept for reuse. A visit is a script's view of one request.
const SPARE: usize = 16;

/// The state that a front's scripts share.
pub struct Lua {
    is_used: Cell<bool>,
    edge: OnceCell<Edge>,
    disk: Rc<Disk>,
    threads: Rc<ComputeThreads>,
    /// The number of reloads. A helping thread drops its scripts when this number changes.
    reloads: Cell<u64>,
    /// Finished visits. Boxed, because scripts borrow them.
    #[allow(clippy::vec_box)]
    spare: RefCell<Vec<Box<Visit>>>,
    /// The settings outside of sections, by host.
    bases: RefCell<Vec<Option<Arc<Settings>>>>,
}

impl Lua {
    pub fn new(
        site: &Site,
        watcher: &Rc<FileWatcher>,
        files: &Files,
        threads: &Rc<ComputeThreads>,
    ) -> Lua {
        Lua {
            is_used: Cell::new(site.has_lua()),
            edge: OnceCell::new(),
            disk: Rc::new(Disk::new(watcher, files)),
            threads: threads.clone(),
            reloads: Cell::default(),
            spare: RefCell::default(),
            bases: RefCell::default(),
        }
    }

    /// Drops the scripts, because the site was read again.
    pub fn reconfigure(&self, site: &Site) {
        self.is_used.set(site.has_lua());
        self.bases.borrow_mut().clear();
        self.reloads.set(self.reloads.get() + 1);
        if let Some(edge) = self.edge.get() {
            edge.forget();
        }
    }

    /// Returns false if no request of this site runs a script.
    pub fn is_used(&self) -> bool {
        self.is_used.get()
    }

    pub fn base(&self, host: &Host) -> Arc<Settings> {
        let mut bases = self.bases.borrow_mut();
        let at = host.number as usize;
        if bases.len() <= at {
            bases.resize(at + 1, None);
        }
        bases[at]
            .get_or_insert_with(|| host.base_settings())
            .clone()
    }

    pub fn new_visit(&self, stage: Stage) -> Box<Visit> {
        let mut visit = self.spare.borrow_mut().pop().unwrap_or_default();
        visit.reset(stage);
        visit
    }

    pub fn give_back(&self, visit: Box<Visit>) {
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE {
            spare.push(visit);
        }
    }

    fn edge(&self) -> Result<&Edge, Failure> {
        if let Some(edge) = self.edge.get() {
            return Ok(edge);
        }
        let edge = Edge::new(self.disk.clone())?;
        Ok(self.edge.get_or_init(|| edge))
    }

    /// Runs one script to its end, in slices. `look` shows the request to the first slice only. If
    /// the script does not start, the returned visit is empty.
    pub async fn run(
        &self,
        clock: &Clock,
        file: &Path,
        settings: &Arc<Settings>,
        visit: Box<Visit>,
        look: impl FnOnce(&mut dyn FnMut(&dyn Source)),
    ) -> (Result<ScriptDecision, Failure>, Box<Visit>) {
        let now = clock.tick();
        let started = self
            .edge()
            .and_then(|edge| edge.start(file, now, limits(&settings.lua), visit));
        let mut run = match started {
            Ok(run) => run,
            Err(failure) => return (Err(failure), Box::default()),
        };
        let mut step = Step::Again;
        self.disk.look_for(now, settings);
        if run.is_for_helpers() && self.threads.are_allowed() {
            look(&mut |seen| run.learn(Some(seen)));
            let job = Job {
                file: file.to_path_buf(),
                now,
                settings: settings.clone(),
                visit: Box::new(run.visit().clone()),
                reloads: self.reloads.get(),
            };
            match self.threads.run_elsewhere(move || job.run()).await {
                Ok(Some(Some(ended))) => {
                    run.ended_elsewhere(ended.was_long);
                    return (ended.result, ended.visit);
                }
                Ok(Some(None)) => run.stay(),
                // All threads are busy, so the front's own thread runs the script.
                Ok(None) => {}
                Err(error) => return (Err(helper::lost(file, &error)), run.into_visit()),
            }
        } else {
            look(&mut |seen| step = run.step(Some(seen)));
        }
        loop {
            match step {
                Step::Done(done) => return (done, run.into_visit()),
                Step::Again => tokio::task::yield_now().await,
            }
            self.disk.look_for(now, settings);
            step = run.step(None);
        }
    }
}

fn limits(settings: &LuaSettings) -> Limits {
    Limits {
        instructions: settings.instructions,
        memory: usize::try_from(settings.memory).unwrap_or(usize::MAX),
    }
}

//! The pool's state, and the front's calls to it.

mod generations;
mod iterate_holding;
mod report_false_starts;
mod teams;

use crate::arrived;
use crate::call::{Call, ResponseOutcome, SubrequestResolver, WarmupResolver};
use crate::generation::{Generation, FIRST_GENERATION};
use crate::holding::Holding;
use crate::launcher::Launchers;
use crate::page::PageRenderer;
use crate::plan::Plan;
use crate::team::Team;
use crate::worker::Worker;
use mehari_config::Site;
use mehari_observe::ErrorLog;
use mehari_wire::Bell;
use std::cell::{RefCell, RefMut};
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;
use tokio::task::{spawn_local, AbortHandle};

/// The dispatcher of one site. Cheap to clone. Not `Send`, because it belongs to the front's
/// thread.
#[derive(Clone)]
pub struct Pool(pub(crate) Rc<Shared>);

pub(crate) struct Shared {
    inner: RefCell<Inner>,
    /// Notified when workers or generations end. Reloads and stops wait for it.
    pub changed: Notify,
    /// The tasks that end with the pool.
    tasks: RefCell<Vec<AbortHandle>>,
}

pub(crate) struct Inner {
    pub site: Arc<Site>,
    /// The teams of the current generation's site; the main server's is the first.
    pub teams: Vec<Team>,
    pub log: ErrorLog,
    /// Answers the workers' questions about paths. `None`: no answers.
    pub resolver: Option<SubrequestResolver>,
    /// Renders the pages with server-side includes within workers' requests. `None`: no pages.
    pub page_renderer: Option<PageRenderer>,
    /// Finds the calls for requests of warm-ups.
    pub warmup_resolver: WarmupResolver,
    pub bell: Rc<Bell>,
    /// The bells of the pools with a launcher, by name. A worker can write to its bell, so a worker
    /// of another user gets a bell that is not the others'.
    pub pool_bells: BTreeMap<String, Rc<Bell>>,
    /// Requests with a waiting client, including queued requests.
    pub active_requests: usize,
    /// The workers by index. A place is used again after its worker has ended.
    pub workers: Vec<Option<Worker>>,
    pub holding: Holding,
    pub generations: Vec<Generation>,
    /// The latest generation of the whole site. A pool that was reloaded alone has a later one. 0:
    /// none is loaded.
    pub current: u32,
    /// The processes that start the zygotes of pools with their own user or cgroup.
    pub launchers: Launchers,
    pub next_generation: u32,
    pub stopping: bool,
    pub scratch: Vec<u8>,
    pub spare_frames: Vec<Vec<u8>>,
    /// The number of workers that can run at once beside the front.
    pub cores_for_workers: usize,
    pub contention: crate::contention::Contention,
    /// The most templates of a worker.
    pub templates_most: usize,
    /// Notified when a request is put behind another one in a mailbox. The take-back timer waits
    /// for it.
    pub deepened: Rc<Notify>,
    /// Whether the round of time limits rests because no worker has a request.
    pub is_resting: bool,
    /// Notified when a request arrives during that rest.
    pub request_arrived: Rc<Notify>,
    pub random: u64,
    /// What the last look at the memory of all processes has shown.
    pub memory: crate::memory::PoolMemory,
    /// Whether the kernel merges equal pages of the processes.
    pub merges_memory: bool,
    pub memory_looked_at: Option<Instant>,
    /// [`Totals::requests`] at that look.
    pub served_at_look: u64,
    /// Notified when a worker begins to serve, and when the last one has ended. Then the memory of
    /// all processes is looked at.
    pub workers_changed: Rc<Notify>,
    pub totals: Totals,
    pub rewound: crate::rewound::Rewound,
    pub learned: crate::learned::Learned,
    pub questions: crate::explanation::Questions,
    pub deferred: crate::deferral::Deferred,
    /// The workers' questions about requests that wait for something.
    pub open_questions: crate::open_questions::OpenQuestions,
}

/// Counts since the start, for the status page.
#[derive(Debug, Default, Clone, serde::Serialize)]
pub struct Totals {
    pub requests: u64,
    pub queued: u64,
    pub taken_back: u64,
    /// All of `refusals`.
    pub refused: u64,
    pub refusals: crate::refusals::Refusals,
    pub timed_out: u64,
    pub workers_started: u64,
    pub workers_died: u64,
    pub replaced: crate::worn::Replacements,
}

impl Pool {
    pub(crate) fn new(
        site: Arc<Site>,
        plans: Vec<Plan>,
        log: ErrorLog,
        warmup_resolver: WarmupResolver,
    ) -> io::Result<Pool> {
        let templates_most = crate::template_limit::of(&site);
        let inner = Inner {
            teams: Team::all(&site, plans),
            site,
            log,
            resolver: None,
            page_renderer: None,
            warmup_resolver,
            bell: Rc::new(Bell::create()?),
            pool_bells: BTreeMap::new(),
            active_requests: 0,
            workers: Vec::new(),
            holding: Holding::default(),
            generations: Vec::new(),
            current: 0,
            launchers: Launchers::new(),
            next_generation: FIRST_GENERATION,
            stopping: false,
            scratch: Vec::with_capacity(mehari_wire::layout::RECORD_LIMIT),
            spare_frames: Vec::new(),
            cores_for_workers: std::thread::available_parallelism()
                .map_or(1, |cores| cores.get().saturating_sub(1).max(1)),
            contention: Default::default(),
            templates_most,
            deepened: Rc::default(),
            is_resting: false,
            request_arrived: Rc::default(),
            random: u64::from(std::process::id()) << 32 | 0x9e37_79b9,
            memory: crate::memory::PoolMemory::default(),
            merges_memory: false,
            memory_looked_at: None,
            served_at_look: 0,
            workers_changed: Rc::default(),
            totals: Totals::default(),
            rewound: Default::default(),
            learned: Default::default(),
            questions: Default::default(),
            deferred: Default::default(),
            open_questions: Default::default(),
        };
        Ok(Pool(Rc::new(Shared {
            inner: RefCell::new(inner),
            changed: Notify::new(),
            tasks: RefCell::default(),
        })))
    }

    /// Runs a task of the pool until it ends or the pool does.
    pub(crate) fn run(&self, task: impl Future<Output = ()> + 'static) {
        let task = spawn_local(task).abort_handle();
        self.0.tasks.borrow_mut().push(task);
    }

    pub(crate) fn end_tasks(&self) {
        let tasks = self.0.tasks.take();
        tasks.iter().for_each(AbortHandle::abort);
    }

    pub(crate) fn borrow(&self) -> RefMut<'_, Inner> {
        self.0.inner.borrow_mut()
    }

    /// Sets the functions that answer the workers' questions.
    pub fn resolve_with(&self, resolver: SubrequestResolver, page_renderer: PageRenderer) {
        let mut inner = self.borrow();
        inner.resolver = Some(resolver);
        inner.page_renderer = Some(page_renderer);
    }

    /// Reads the records of one worker.
    pub(crate) fn drain(&self, worker: usize) {
        self.borrow().drain_worker(worker);
    }

    /// Tells the worker of a request that the client has left.
    pub(crate) fn note_departure(&self, exchange: &arrived::Shared) {
        let worker = exchange.borrow().worker;
        let mut inner = self.borrow();
        if let Some(worker) = inner.worker_at(worker, exchange) {
            // A broken word is found when the mailbox is next read.
            let _ = worker.mailbox.note_departure();
        }
    }

    /// Gives up a request whose client has gone. A request that has not started never runs, and
    /// later records are dropped.
    pub(crate) fn abandon(&self, exchange: &arrived::Shared) {
        let mut inner = self.borrow();
        inner.active_requests -= 1;
        inner.report_outcome(exchange, ResponseOutcome::default());
        inner.answer_rules(exchange, None);
        let (is_complete, worker) = {
            let mut arrived = exchange.borrow_mut();
            let is_complete = arrived.complete;
            arrived.give_up();
            (is_complete, arrived.worker)
        };
        match worker {
            _ if is_complete => {}
            Some((index, _)) => {
                inner.forget_unstarted(index, exchange);
                // The ring may be full of records that have no reader any more.
                inner.drain_worker(index);
            }
            None => inner.forget_queued(exchange),
        }
    }

    /// Returns the number of requests under way, including queued requests.
    pub fn active_requests(&self) -> usize {
        self.borrow().active_requests
    }

    /// Returns the files whose change needs a new generation: the files of the configuration, and
    /// the files that the zygotes loaded from the site's folders.
    pub fn watched_files(&self) -> Vec<PathBuf> {
        let inner = self.borrow();
        let loaded = (0..inner.site.perls.len())
            .filter_map(|perl| inner.serving_zygote(perl))
            .flat_map(|loaded| loaded.files.iter().cloned());
        inner
            .site
            .source
            .files
            .iter()
            .cloned()
            .chain(loaded)
            .collect()
    }

    /// Refuses all requests from now on. Running requests continue.
    pub fn begin_stop(&self) {
        let mut inner = self.borrow();
        inner.stopping = true;
    }
}

impl Inner {
    pub fn worker(&mut self, index: usize) -> Option<&mut Worker> {
        self.workers.get_mut(index).and_then(Option::as_mut)
    }

    /// Announces to all workers that the front is about to sleep, or is awake.
    pub fn declare(&self, sleeps: bool) {
        let declare = |bell: &Bell| {
            if sleeps {
                bell.declare_sleep()
            } else {
                bell.declare_awake()
            }
        };
        declare(&self.bell);
        // Walking an empty map would cost more than the declaration.
        if !self.pool_bells.is_empty() {
            self.pool_bells.values().for_each(|bell| declare(bell));
        }
    }

    /// Returns the worker if this exchange is the first of its requests.
    fn worker_at(
        &mut self,
        worker: Option<(usize, u32)>,
        exchange: &arrived::Shared,
    ) -> Option<&mut Worker> {
        let worker = self.worker(worker?.0)?;
        let is_first = worker.held.front()?.owed.is_to(exchange);
        is_first.then_some(worker)
    }

    /// Tells a waiting worker the outcome of its request, once.
    pub fn report_outcome(&mut self, exchange: &arrived::Shared, outcome: ResponseOutcome<'_>) {
        let mut arrived = exchange.borrow_mut();
        if !std::mem::take(&mut arrived.listens) {
            return;
        }
        let worker = arrived.worker;
        if let Some(worker) = self.worker_at(worker, exchange) {
            crate::frame::put_outcome(outcome, worker.mailbox.answer_room());
            worker.mailbox.answer();
        }
    }

    /// Answers a worker that waits for rules, once.
    pub fn answer_rules(&mut self, exchange: &arrived::Shared, call: Option<Call<'_>>) {
        let mut arrived = exchange.borrow_mut();
        if !std::mem::take(&mut arrived.asks) {
            return;
        }
        let worker = arrived.worker;
        if let Some(worker) = self.worker_at(worker, exchange) {
            let room = worker.mailbox.answer_room();
            room[..4].fill(0);
            if let Some(call) = call {
                crate::frame::encode_or_refuse(call, room);
            }
            worker.mailbox.answer();
        }
    }

    /// Returns a random number for jitter, not for secrets.
    pub fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}
